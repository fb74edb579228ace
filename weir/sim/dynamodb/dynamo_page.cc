#include "weir/sim/dynamodb/dynamo_page.h"

#include <cstdint>

#include "weir/sim/dynamodb/expression/dynamo_condition_eval.h"

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestPage = 1024 * 1024;

}  // namespace

std::size_t ReadLimit(const RequestFields& fields) {
  const json* limit = fields.Find("Limit");
  if (limit == nullptr) return SIZE_MAX;
  if (!limit->is_number_integer() || limit->get<std::int64_t>() < 1) {
    RefuseInvalid("Limit must be greater than or equal to 1");
  }
  return limit->get<std::size_t>();
}

ReadPage CutPage(const PageCut& cut, const std::vector<Candidate>& candidates) {
  ReadPage page;
  const Item* previous = nullptr;
  for (const auto& [position, item] : candidates) {
    const std::size_t size = SizeOf(*item);
    if (previous != nullptr && page.bytes + size > kLargestPage) {
      page.last = previous;
      return page;
    }
    page.bytes += size;
    ++page.scanned;
    if (!cut.filter || Holds(*cut.filter, *item)) page.items.push_back(item);
    previous = item;
    // As AWS does: a full page has a key to continue from, even if no item follows.
    if (page.scanned == cut.limit) {
      page.last = item;
      return page;
    }
  }
  return page;
}

json ToResponse(const PageCut& cut, const ReadPage& page, const std::vector<KeyNames>& keys) {
  json response = {{"Count", page.items.size()}, {"ScannedCount", page.scanned}};
  if (!cut.count_only) {
    response["Items"] = json::array();
    for (const Item* item : page.items) {
      response["Items"].push_back(
          WriteItem(cut.projection.empty() ? *item : OrRefuse(Project(*item, cut.projection))));
    }
  }
  if (page.last != nullptr) {
    Item last;
    for (const KeyNames& key : keys) CopyKey(*page.last, key, last);
    response["LastEvaluatedKey"] = WriteItem(last);
  }
  return response;
}

}  // namespace weir::sim
