#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>

#include "weir/model/decimal.h"
#include "weir/model/limits_file.h"
#include "weir/model/quota_text.h"

namespace weir {
namespace {

// Words that some parsers of YAML 1.1 or 1.2 do not read as text.
constexpr std::array<std::string_view, 9> kTaken = {"null", "true", "false", "yes", "no",
                                                    "on",   "off",  "y",     "n"};

bool IsTaken(std::string_view name) {
  return std::ranges::any_of(kTaken, [name](std::string_view taken) {
    return std::ranges::equal(name, taken, {}, [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
  });
}

/// Returns a valid name, in quotes if YAML could read it as a number, a time, null or the like.
std::string Name(std::string_view name) {
  const bool is_word = !name.empty() && (name[0] < '0' || name[0] > '9');
  if (is_word && name.find(':') == std::string_view::npos && !IsTaken(name)) {
    return std::string(name);
  }
  return fmt::format("\"{}\"", name);
}

class Writer {
 public:
  /// Writes a line of the file, indented by two blanks for each level.
  void Line(int level, std::string_view text) {
    fmt::format_to(std::back_inserter(text_), "{:{}}{}\n", "", 2 * level, text);
  }
  void Key(int level, std::string_view name) { Line(level, Name(name) + ":"); }

  void Limits(int level, const std::vector<Limit>& limits) {
    Line(level, "limits:");
    for (const auto& [name, quota, allowance] : limits) {
      const bool allows = allowance != milliseconds(0);
      Line(level + 1,
           fmt::format("{}: {{capacity: {}, refill_amount: {}, refill_period: {}{}{}}}", Name(name),
                       FormatThousandths(quota.capacity), FormatThousandths(quota.amount),
                       FormatThousandths(quota.period), allows ? ", allowance: " : "",
                       allows ? FormatAllowance(allowance) : ""));
    }
  }

  void Resources(int level, const std::map<std::string, std::vector<Limit>>& resources) {
    if (resources.empty()) return;
    Line(level, "resources:");
    for (const auto& [resource, limits] : resources) {
      Key(level + 1, resource);
      Limits(level + 2, limits);
    }
  }

  void System(const LimitsFile& file) {
    if (!file.on_unavailable && file.system.empty()) return;
    Line(0, "system:");
    if (file.on_unavailable) {
      const bool allow = *file.on_unavailable == OnUnavailable::kAllow;
      Line(1, allow ? "on_unavailable: allow" : "on_unavailable: block");
    }
    if (!file.system.empty()) Limits(1, file.system);
  }

  void Entity(const std::string& id, const EntityDeclaration& entity) {
    if (entity == EntityDeclaration()) return Line(1, Name(id) + ": {}");
    Key(1, id);
    if (entity.parent) Line(2, "parent: " + Name(*entity.parent));
    if (entity.cascade) Line(2, "cascade: true");
    Resources(2, entity.resources);
  }

  std::string Take() && { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string FormatLimitsFile(const LimitsFile& file) {
  Writer out;
  out.Line(0, "namespace: " + Name(file.namespace_name));
  out.System(file);
  out.Resources(0, file.resources);
  if (!file.entities.empty()) out.Line(0, "entities:");
  for (const auto& [id, entity] : file.entities) out.Entity(id, entity);
  return std::move(out).Take();
}

}  // namespace weir
