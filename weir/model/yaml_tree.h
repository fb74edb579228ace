// YAML as a tree of nodes that know their lines.
//
// Stricter than YAML where YAML invites mistakes: keys are single values and appear once in a
// mapping, there is one document, and tags are refused. Bounded: see weir/model/yaml_source.h; more
// than kMaxYamlNodes nodes and nesting beyond kMaxYamlDepth are refused too. An alias is the node
// it names, not a copy; so a tree may be far larger to walk than to hold, and a node may contain
// itself: whoever walks it must bound the walk.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"

namespace weir {

inline constexpr std::size_t kMaxYamlNodes = 2'000'000;
inline constexpr std::size_t kMaxYamlDepth = 32;

struct YamlNode;

struct YamlEntry {
  const YamlNode* key;
  const YamlNode* value;
};

struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMapping };
  Kind kind = Kind::kNull;
  int line = 0;                    ///< from 1; of a null that is a value: the line of its key
  std::string text;                ///< of a scalar
  bool is_plain = false;           ///< of a scalar: written without quotes
  std::vector<YamlEntry> entries;  ///< of a mapping, in the order of the file
  std::vector<const YamlNode*> elements;  ///< of a sequence
};

/// Owns the nodes.
struct YamlTree {
  std::deque<YamlNode> nodes;
  const YamlNode* root = nullptr;  ///< null: nothing but blanks and comments
};

/// Errors are kInvalidArgument and read `file_name:line: what; right would be ...`.
[[nodiscard]] Result<YamlTree> ParseYaml(std::string_view text, std::string_view file_name);

/// The entry with this key, or null.
const YamlEntry* Find(const YamlNode& mapping, std::string_view key);

/// "a list", "a mapping" and the like.
std::string_view Describe(YamlNode::Kind kind);

}  // namespace weir
