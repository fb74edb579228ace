#include "weir/zae_table/table_purpose.h"

#include <map>

namespace weir::dynamo {
namespace {

using Indexes = std::map<std::string, IndexLayout>;

void KeepOnly(const Indexes& wanted, Indexes& indexes) {
  std::erase_if(indexes, [&](const auto& index) { return !wanted.contains(index.first); });
}

}  // namespace

std::string_view Name(Feature feature) {
  switch (feature) {
    case Feature::kOn:
      return "on";
    case Feature::kOff:
      return "off";
    case Feature::kNotOffered:
      return "not offered";
  }
  return "";
}

std::vector<std::string> RelevantDifferences(const TableLayout& found, const TableLayout& wanted,
                                             const TablePurpose& purpose) {
  if (purpose.exact) return Differences(found, wanted);
  TableLayout relevant = found;
  relevant.billing = wanted.billing;
  relevant.stream = wanted.stream;
  KeepOnly(wanted.global_indexes, relevant.global_indexes);
  KeepOnly(wanted.local_indexes, relevant.local_indexes);
  return Differences(relevant, wanted);
}

}  // namespace weir::dynamo
