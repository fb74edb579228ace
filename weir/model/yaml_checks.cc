#include "weir/model/yaml_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "weir/model/nearest_key.h"
#include "weir/model/quoted.h"
#include "weir/model/yaml_source.h"

namespace weir {
namespace {

using Kind = YamlNode::Kind;

}  // namespace

tl::unexpected<Error> YamlChecks::Refuse(int line, std::string_view what,
                                         std::string_view expected) const {
  return RefuseAt(file_name_, line, fmt::format("{}; expected {}", what, expected));
}

tl::unexpected<Error> YamlChecks::At(const YamlNode& node, const Error& error) const {
  return RefuseAt(file_name_, node.line, error.message);
}

Status YamlChecks::Expect(Kind kind, const YamlNode& node, std::string_view where,
                          std::string_view expected) const {
  if (node.kind == kind) return {};
  return Refuse(node.line, fmt::format("{} is {}", where, Describe(node.kind)), expected);
}

Status YamlChecks::ExpectKeys(const YamlNode& node, std::string_view where, YamlWords known) const {
  WEIR_RETURN_IF_ERROR(Expect(Kind::kMapping, node, where,
                              fmt::format("a mapping with {}", fmt::join(known, ", "))));
  for (const YamlEntry& entry : node.entries) {
    if (std::ranges::find(known, entry.key->text) != known.end()) continue;
    return Refuse(entry.key->line,
                  fmt::format("unknown key {} in {}", Quoted(entry.key->text), where),
                  NearestKey(entry.key->text, known));
  }
  return {};
}

Status YamlChecks::ExpectWord(const YamlNode& node, std::string_view where, YamlWords known) const {
  const auto expected = fmt::format("{}", fmt::join(known, " or "));
  WEIR_RETURN_IF_ERROR(Expect(Kind::kScalar, node, where, expected));
  if (std::ranges::find(known, node.text) != known.end()) return {};
  return Refuse(node.line, fmt::format("{} is {}", where, Quoted(node.text)), expected);
}

Status YamlChecks::CheckName(const YamlNode& name, Status (*check)(std::string_view)) const {
  const Status status = check(name.text);
  if (status) return {};
  return At(name, status.error());
}

}  // namespace weir
