// YAML as a tree of nodes with line numbers.
//
// The parser is stricter than YAML: keys are single values and appear once in a mapping, a file has
// one document, and tags are refused. Its cost is bounded: see weir/model/yaml_source.h; files with
// more than kMaxYamlNodes nodes or nested deeper than kMaxYamlDepth are refused too. An alias is
// the node that it names, not a copy. A walk over the tree may therefore visit far more nodes than
// the tree has, and a node may contain itself: code that walks a tree must bound the walk.
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
  int line = 0;                    ///< from 1; for a null that is a value: the line of its key
  std::string text;                ///< the text of a scalar
  bool is_plain = false;           ///< the scalar is written without quotes
  std::vector<YamlEntry> entries;  ///< the entries of a mapping, in the order of the file
  std::vector<const YamlNode*> elements;  ///< the elements of a sequence
};

/// Owns the nodes.
struct YamlTree {
  std::deque<YamlNode> nodes;
  const YamlNode* root = nullptr;  ///< null if the text has only blanks and comments
};

/// Errors are kInvalidArgument, with the message `file_name:line: what; expected ...`.
[[nodiscard]] Result<YamlTree> ParseYaml(std::string_view text, std::string_view file_name);

/// Returns the entry with this key, or null.
const YamlEntry* Find(const YamlNode& mapping, std::string_view key);

/// Returns "a list", "a mapping" and the like.
std::string_view Describe(YamlNode::Kind kind);

}  // namespace weir
