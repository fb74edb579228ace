// What a part of a YAML file must be.
#pragma once

#include <span>
#include <string_view>

#include "weir/model/yaml_tree.h"

namespace weir {

using YamlWords = std::span<const std::string_view>;

/// Refuses in the form of ParseYaml. `where` is what messages call the part.
class YamlChecks {
 public:
  /// `file_name` must outlive the checks.
  explicit YamlChecks(std::string_view file_name) : file_name_(file_name) {}

  tl::unexpected<Error> Refuse(int line, std::string_view what, std::string_view right) const;

  /// Gives the error of a value the line that the value stands on.
  tl::unexpected<Error> At(const YamlNode& node, const Error& error) const;

  /// `node` is of this kind; `right` says what would be.
  Status Expect(YamlNode::Kind kind, const YamlNode& node, std::string_view where,
                std::string_view right) const;

  /// `node` is a mapping and has no other keys than these.
  Status ExpectKeys(const YamlNode& node, std::string_view where, YamlWords known) const;

  /// `node` is one of these words.
  Status ExpectWord(const YamlNode& node, std::string_view where, YamlWords known) const;

 private:
  std::string_view file_name_;
};

}  // namespace weir
