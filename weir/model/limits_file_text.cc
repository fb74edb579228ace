#include "weir/model/limits_file_text.h"

#include <fmt/format.h>

#include <iterator>

#include "weir/model/decimal.h"
#include "weir/model/quota_text.h"
#include "weir/model/yaml_text.h"

namespace weir {
namespace {

class Writer {
 public:
  /// Writes a line of the file, indented by two blanks for each level.
  void WriteLine(int level, std::string_view text) {
    fmt::format_to(std::back_inserter(text_), "{:{}}{}\n", "", 2 * level, text);
  }
  void WriteKey(int level, std::string_view name) { WriteLine(level, YamlText(name) + ":"); }

  void WriteLimits(int level, const std::vector<Limit>& limits) {
    WriteLine(level, "limits:");
    for (const auto& [name, quota, allowance] : limits) {
      const bool allows = allowance != milliseconds(0);
      WriteLine(
          level + 1,
          fmt::format("{}: {{capacity: {}, refill_amount: {}, refill_period: {}{}{}}}",
                      YamlText(name), FormatThousandths(quota.capacity),
                      FormatThousandths(quota.amount), FormatThousandths(quota.period),
                      allows ? ", allowance: " : "", allows ? FormatAllowance(allowance) : ""));
    }
  }

  void WriteResources(int level, const std::map<std::string, std::vector<Limit>>& resources) {
    if (resources.empty()) return;
    WriteLine(level, "resources:");
    for (const auto& [resource, limits] : resources) {
      WriteKey(level + 1, resource);
      WriteLimits(level + 2, limits);
    }
  }

  void WriteSystem(const LimitsFile& file) {
    if (!file.on_unavailable && file.system.empty()) return;
    WriteLine(0, "system:");
    if (file.on_unavailable) {
      const bool allow = *file.on_unavailable == OnUnavailable::kAllow;
      WriteLine(1, allow ? "on_unavailable: allow" : "on_unavailable: block");
    }
    if (!file.system.empty()) WriteLimits(1, file.system);
  }

  void WriteEntity(const std::string& id, const EntityDeclaration& entity) {
    if (entity == EntityDeclaration()) return WriteLine(1, YamlText(id) + ": {}");
    WriteKey(1, id);
    if (entity.parent) WriteLine(2, "parent: " + YamlText(*entity.parent));
    if (entity.cascade) WriteLine(2, "cascade: true");
    WriteResources(2, entity.resources);
  }

  std::string TakeText() && { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string FormatLimitsFile(const LimitsFile& file) {
  Writer out;
  out.WriteLine(0, "namespace: " + YamlText(file.namespace_name));
  out.WriteSystem(file);
  out.WriteResources(0, file.resources);
  if (!file.entities.empty()) out.WriteLine(0, "entities:");
  for (const auto& [id, entity] : file.entities) out.WriteEntity(id, entity);
  return std::move(out).TakeText();
}

}  // namespace weir
