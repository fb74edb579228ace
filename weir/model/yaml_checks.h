// Checks of the parts of a YAML file.
#pragma once

#include <span>
#include <string_view>

#include "weir/model/yaml_tree.h"

namespace weir {

using YamlWords = std::span<const std::string_view>;

/// Errors have the form of those of ParseYaml. In messages, `where` names the checked part, and
/// `expected` describes a correct one.
class YamlChecks {
 public:
  /// `file_name` must outlive the checks.
  explicit YamlChecks(std::string_view file_name) : file_name_(file_name) {}

  tl::unexpected<Error> Refuse(int line, std::string_view what, std::string_view expected) const;

  /// Adds the line of `node` to an error in its value.
  tl::unexpected<Error> At(const YamlNode& node, const Error& error) const;

  /// Checks that `node` is of this kind.
  Status Expect(YamlNode::Kind kind, const YamlNode& node, std::string_view where,
                std::string_view expected) const;

  /// Checks that `node` is a mapping and has no keys other than `known`.
  Status ExpectKeys(const YamlNode& node, std::string_view where, YamlWords known) const;

  /// Checks that `node` is one of the words `known`.
  Status ExpectWord(const YamlNode& node, std::string_view where, YamlWords known) const;

  /// Checks the text of `name`, a scalar, by `check`.
  Status CheckName(const YamlNode& name, Status (*check)(std::string_view name)) const;

 private:
  std::string_view file_name_;
};

}  // namespace weir
