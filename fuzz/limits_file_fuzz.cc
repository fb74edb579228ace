// ParseLimitsFile: a result has valid limits only and reads back the same from its formatted text.
// An error begins with the name and a line of the file and ends with a remedy.
#include <string>

#include "fuzz/require_file_refusal.h"
#include "weir/model/identifier.h"
#include "weir/model/limits_file.h"
#include "weir/model/limits_file_text.h"

namespace weir {
namespace {

constexpr std::string_view kName = "f.yaml";

void CheckResources(const std::map<std::string, std::vector<Limit>>& resources) {
  for (const auto& [resource, limits] : resources) {
    Require(resource == kDefaultResource || CheckResource(resource), "resources have valid names");
    Require(Validate(limits).has_value(), "limits that were read are valid");
  }
}

void CheckFile(const LimitsFile& file) {
  Require(CheckNamespace(file.namespace_name).has_value(), "the namespace has a valid name");
  Require(file.system.empty() || Validate(file.system), "limits of the system are valid");
  Require(!file.resources.contains(std::string(kDefaultResource)), "_default_ is of entities only");
  CheckResources(file.resources);
  for (const auto& [id, entity] : file.entities) {
    Require(CheckEntityId(id).has_value(), "entities have valid ids");
    Require(!entity.cascade || entity.parent, "a cascade has a parent");
    CheckResources(entity.resources);
  }
  const std::string text = FormatLimitsFile(file);
  const auto again = ParseLimitsFile(text, kName);
  Require(again.has_value(), again ? "" : again.error().message);
  Require(*again == file, "FormatLimitsFile reads back");
  Require(FormatLimitsFile(*again) == text, "equal files have the same text");
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = weir::ParseLimitsFile(text, weir::kName);
  if (file) {
    weir::CheckFile(*file);
  } else {
    weir::RequireFileRefusal(text, weir::kName, file.error());
  }
  return 0;
}
