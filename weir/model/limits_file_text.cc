#include "weir/model/limits_file_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>

#include "weir/model/decimal.h"
#include "weir/model/quota_text.h"

namespace weir {
namespace {

// Words that some parsers of YAML 1.1 or 1.2 do not read as text.
constexpr std::array<std::string_view, 9> kYamlKeywords = {"null", "true", "false", "yes", "no",
                                                           "on",   "off",  "y",     "n"};

bool IsYamlKeyword(std::string_view name) {
  return std::ranges::any_of(kYamlKeywords, [name](std::string_view taken) {
    return std::ranges::equal(name, taken, {}, [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
  });
}

/// Returns a valid name, in quotes if YAML could read it as a number, a time, null or the like.
std::string YamlName(std::string_view name) {
  const bool is_word = !name.empty() && (name[0] < '0' || name[0] > '9');
  if (is_word && name.find(':') == std::string_view::npos && !IsYamlKeyword(name)) {
    return std::string(name);
  }
  return fmt::format("\"{}\"", name);
}

class Writer {
 public:
  /// Writes a line of the file, indented by two blanks for each level.
  void WriteLine(int level, std::string_view text) {
    fmt::format_to(std::back_inserter(text_), "{:{}}{}\n", "", 2 * level, text);
  }
  void WriteKey(int level, std::string_view name) { WriteLine(level, YamlName(name) + ":"); }

  void WriteLimits(int level, const std::vector<Limit>& limits) {
    WriteLine(level, "limits:");
    for (const auto& [name, quota, allowance] : limits) {
      const bool allows = allowance != milliseconds(0);
      WriteLine(
          level + 1,
          fmt::format("{}: {{capacity: {}, refill_amount: {}, refill_period: {}{}{}}}",
                      YamlName(name), FormatThousandths(quota.capacity),
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
    if (entity == EntityDeclaration()) return WriteLine(1, YamlName(id) + ": {}");
    WriteKey(1, id);
    if (entity.parent) WriteLine(2, "parent: " + YamlName(*entity.parent));
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
  out.WriteLine(0, "namespace: " + YamlName(file.namespace_name));
  out.WriteSystem(file);
  out.WriteResources(0, file.resources);
  if (!file.entities.empty()) out.WriteLine(0, "entities:");
  for (const auto& [id, entity] : file.entities) out.WriteEntity(id, entity);
  return std::move(out).TakeText();
}

}  // namespace weir
