// ParseLimitsFile: a result has valid limits only and reads back the same from its formatted text.
// An error begins with the name and a line of the file and ends with a remedy.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "fuzz/require.h"
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

void CheckRefusal(std::string_view text, const Error& error) {
  RequireRefusal(error);
  std::string_view message = error.message;
  const std::string prefix = fmt::format("{}:", kName);
  Require(message.starts_with(prefix), "a refusal names the file");
  message.remove_prefix(prefix.size());
  std::int64_t line = 0;
  const auto [end, fault] = std::from_chars(message.data(), message.data() + message.size(), line);
  Require(fault == std::errc() && end != message.data() + message.size() && *end == ':',
          "a refusal names the line");
  // An error at the end of the file is reported on the line after the last line break.
  Require(line >= 1 && line <= 1 + std::count(text.begin(), text.end(), '\n'),
          "the line is one of the file");
  Require(message.find("; right would be ") != std::string_view::npos,
          "a refusal says what would be right");
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = weir::ParseLimitsFile(text, weir::kName);
  if (file) {
    weir::CheckFile(*file);
  } else {
    weir::CheckRefusal(text, file.error());
  }
  return 0;
}
