#include "weir/model/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <istream>
#include <optional>
#include <unordered_map>

#include "weir/model/quoted.h"
#include "weir/model/yaml_brackets.h"
#include "weir/model/yaml_source.h"

namespace weir {
namespace {

using Kind = YamlNode::Kind;

// The tags that yaml-cpp reports for a scalar without quotes, and for one in quotes.
constexpr std::string_view kPlain = "?";
constexpr std::string_view kInQuotes = "!";

/// Thrown from a handler to stop yaml-cpp's parser. Caught in BuildTree.
struct Refusal {
  int line;
  std::string message;
};

/// Builds the tree from the events of yaml-cpp's parser. `open_` is the path from the root to the
/// innermost sequence or mapping that has not ended.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(YamlTree& tree, YamlSource& source) : tree_(tree), source_(source) {}

  /// Where a node begins in the text.
  struct NodePlace {
    std::size_t at = 0;  // in bytes, after the byte order mark
    int line = 0;
  };

  int last_line() const { return last_line_; }
  const std::optional<NodePlace>& last_scalar() const { return last_scalar_; }
  /// Returns the last `{...}` or `[...]` that is in no other one.
  const std::optional<NodePlace>& last_flow() const { return last_flow_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      throw Refusal{mark.line + 1, "a second document; expected one document in a file"};
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    InsertNode(MakeNode(Kind::kNull, mark, "?", anchor));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode& node = MakeNode(Kind::kScalar, mark, tag, anchor);
    node.text = value;
    node.is_plain = tag == kPlain;
    last_scalar_ = {.at = static_cast<std::size_t>(mark.pos), .line = node.line};
    InsertNode(node);
  }
  void OnAlias(const YAML::Mark&, YAML::anchor_t anchor) override {
    InsertNode(*anchors_.at(anchor));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    Descend(MakeNode(Kind::kSequence, mark, tag, anchor), mark, style);
  }
  void OnSequenceEnd() override { open_.pop_back(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    Descend(MakeNode(Kind::kMapping, mark, tag, anchor), mark, style);
  }
  void OnMapEnd() override {
    RefuseDuplicates(*open_.back().node);
    open_.pop_back();
  }

 private:
  struct OpenNode {
    YamlNode* node;
    const YamlNode* key;  // in a mapping: the key whose value has not been parsed
    bool is_flow;         // the node is in brackets, or in a node that is
  };

  /// Adds a node without content. Throws Refusal for a tag, or if there are too many nodes.
  YamlNode& MakeNode(Kind kind, const YAML::Mark& mark, const std::string& tag,
                     YAML::anchor_t anchor);
  /// Adds a node to the innermost open node: as an element, a key, or the value of the last key.
  void InsertNode(YamlNode& node);
  /// Adds a sequence or mapping and makes it the innermost open node. Throws Refusal if it is too
  /// deep.
  void Descend(YamlNode& node, const YAML::Mark& mark, YAML::EmitterStyle::value style);
  static void RefuseDuplicates(const YamlNode& mapping);

  YamlTree& tree_;
  YamlSource& source_;
  int last_line_ = 1;
  std::optional<NodePlace> last_scalar_;
  std::optional<NodePlace> last_flow_;
  int documents_ = 0;
  std::vector<OpenNode> open_;
  std::unordered_map<YAML::anchor_t, YamlNode*> anchors_;
};

YamlNode& TreeBuilder::MakeNode(Kind kind, const YAML::Mark& mark, const std::string& tag,
                                YAML::anchor_t anchor) {
  const int line = mark.line + 1;
  last_line_ = line;
  source_.Progress();
  if (tree_.nodes.size() == kMaxYamlNodes) {
    throw Refusal{line, fmt::format("more than {} values; expected several files or fewer "
                                    "entries",
                                    kMaxYamlNodes)};
  }
  if (!tag.empty() && tag != kPlain && tag != kInQuotes) {
    throw Refusal{line, fmt::format("tag {}; expected the value without a tag", Quoted(tag))};
  }
  YamlNode& node = tree_.nodes.emplace_back();
  node.kind = kind;
  node.line = line;
  if (anchor != YAML::NullAnchor) anchors_[anchor] = &node;
  return node;
}

void TreeBuilder::InsertNode(YamlNode& node) {
  if (open_.empty()) {
    tree_.root = &node;
    return;
  }
  OpenNode& parent = open_.back();
  if (parent.node->kind == Kind::kSequence) return parent.node->elements.push_back(&node);
  if (parent.key == nullptr) {
    if (node.kind != Kind::kScalar) {
      throw Refusal{node.line, fmt::format("a key is {}; expected a name, in quotes if it "
                                           "reads as something else",
                                           Describe(node.kind))};
    }
    parent.key = &node;
    return;
  }
  // yaml-cpp gives a missing value the line of the next token, which may be far below.
  if (node.kind == Kind::kNull) node.line = parent.key->line;
  parent.node->entries.push_back({parent.key, &node});
  parent.key = nullptr;
}

void TreeBuilder::Descend(YamlNode& node, const YAML::Mark& mark, YAML::EmitterStyle::value style) {
  const bool is_inner = !open_.empty() && open_.back().is_flow;
  const bool is_flow = is_inner || style == YAML::EmitterStyle::Flow;
  if (is_flow && !is_inner) {
    last_flow_ = {.at = static_cast<std::size_t>(mark.pos), .line = node.line};
  }
  if (open_.size() == kMaxYamlDepth) {
    throw Refusal{node.line,
                  fmt::format("nested more than {} deep; expected fewer levels", kMaxYamlDepth)};
  }
  InsertNode(node);
  open_.push_back({.node = &node, .key = nullptr, .is_flow = is_flow});
}

void TreeBuilder::RefuseDuplicates(const YamlNode& mapping) {
  std::unordered_map<std::string_view, int> first_lines;
  for (const YamlEntry& entry : mapping.entries) {
    const auto [first, is_new] = first_lines.try_emplace(entry.key->text, entry.key->line);
    if (is_new) continue;
    throw Refusal{entry.key->line, fmt::format("key {} appears twice, first on line {}; "
                                               "expected each key once",
                                               Quoted(entry.key->text), first->second)};
  }
}

constexpr std::string_view kSilence =
    "more than 1048576 bytes without an entry; expected block style, an entry a line";
static_assert(kMaxBytesWithoutEvent == 1048576, "the text above names it");

/// Returns true if the line with index `line` or the line after it has a tab: yaml-cpp reports an
/// indentation by a tab at the line of the tab or at the line before.
bool HasTab(std::string_view text, int line) {
  for (; line > 0 && !text.empty(); --line) {
    text.remove_prefix(std::min(text.find('\n') + 1, text.size()));
  }
  const std::size_t end = text.find('\n');
  return text.substr(0, end == text.npos ? end : text.find('\n', end + 1)).find('\t') != text.npos;
}

// yaml-cpp 0.7 accepts a quote that is not closed before the end of a text, if the text ends with a
// line break. Such a scalar contains the rest of the text, so it is the last one. `scalar` is the
// text from its beginning; an anchor or a tag may precede the quote.
bool HasOpenQuote(std::string_view scalar) {
  while (scalar.starts_with('&') || scalar.starts_with('!') || scalar.starts_with('#')) {
    // yaml-cpp accepts a quote directly after a tag. A comment ends with its line.
    const std::string_view ends = scalar.starts_with('#')   ? "\r\n"
                                  : scalar.starts_with('!') ? " \t\r\n\"'"
                                                            : " \t\r\n";
    scalar.remove_prefix(std::min(scalar.find_first_of(ends), scalar.size()));
    scalar.remove_prefix(std::min(scalar.find_first_not_of(" \t\r\n"), scalar.size()));
  }
  if (!scalar.starts_with('"') && !scalar.starts_with('\'')) return false;
  const char quote = scalar.front();
  for (std::size_t i = 1; i < scalar.size(); ++i) {
    const bool is_escape = quote == '"' ? scalar[i] == '\\' : scalar.substr(i).starts_with("''");
    if (is_escape) {
      ++i;
    } else if (scalar[i] == quote) {
      return false;
    }
  }
  return true;
}

// Returns the text from a node of the builder on.
std::string_view TextFrom(std::string_view text, const TreeBuilder::NodePlace& place) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // has no position in yaml-cpp
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text.substr(std::min(place.at, text.size()));
}

constexpr std::string_view kOpenQuote =
    "not YAML: a quote is never closed; expected the same quote after the value";

Status CheckLastQuote(std::string_view text, const TreeBuilder& builder,
                      std::string_view file_name) {
  const auto& last = builder.last_scalar();
  if (!last || !HasOpenQuote(TextFrom(text, *last))) return {};
  return RefuseAt(file_name, last->line, kOpenQuote);
}

// For a bracket that is never closed, yaml-cpp may report another fault: the mapping or sequence
// becomes a key, since a colon could follow its end.
Status CheckLastFlow(std::string_view text, const TreeBuilder& builder,
                     std::string_view file_name) {
  if (!builder.last_flow()) return {};
  const std::string_view flow = TextFrom(text, *builder.last_flow());
  if (!flow.starts_with('{') && !flow.starts_with('[')) return {};
  const auto open = FindOpenBracket(flow);
  if (!open) return {};
  const auto lines = std::ranges::count(flow.substr(0, open->at), '\n');
  return RefuseAt(file_name, builder.last_flow()->line + static_cast<int>(lines),
                  fmt::format("not YAML: a '{}' is never closed; expected a '{}' after its entries",
                              open->bracket, open->bracket == '{' ? '}' : ']'));
}

// yaml-cpp accepts directives without a document. Every other line of a text without nodes is a
// comment or blank.
Status CheckDirectives(std::string_view text, std::string_view file_name) {
  for (int line = 1; !text.empty(); ++line) {
    if (text.starts_with('%')) {
      return RefuseAt(file_name, line,
                      "not YAML: a line with '%' at its beginning is a directive, and no document "
                      "follows it; expected lines of 'key: value'");
    }
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return {};
}

std::string_view HintFor(const YAML::Exception& error) {
  const bool is_second_colon = error.msg == YAML::ErrorMsg::MAP_VALUE;
  return is_second_colon ? ", and quotes around a value with a colon at its end or before a space"
                         : "";
}

Status BuildTree(YamlSource& source, TreeBuilder& builder, std::string_view file_name) {
  try {
    std::istream in(&source);
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
    return CheckLastQuote(source.text(), builder, file_name);
  } catch (const Refusal& refusal) {
    WEIR_RETURN_IF_ERROR(CheckLastFlow(source.text(), builder, file_name));
    return RefuseAt(file_name, refusal.line, refusal.message);
  } catch (const YAML::Exception& e) {
    WEIR_RETURN_IF_ERROR(CheckLastFlow(source.text(), builder, file_name));
    return RefuseAt(
        file_name, std::max(e.mark.line, 0) + 1,
        fmt::format("not YAML: {}{}; expected lines of 'key: value', those of one "
                    "level indented alike, by spaces{}",
                    Printable(e.msg),
                    HasTab(source.text(), e.mark.line) ? ", and the line has a tab" : "",
                    HintFor(e)));
  }
}

}  // namespace

Result<YamlTree> ParseYaml(std::string_view text, std::string_view file_name) {
  WEIR_RETURN_IF_ERROR(CheckYamlBytes(text, file_name));
  YamlTree tree;
  YamlSource source(text);
  TreeBuilder builder(tree, source);
  Status status = BuildTree(source, builder, file_name);
  // After an early end, other errors are only its consequences.
  if (source.ended_early()) return RefuseAt(file_name, builder.last_line(), kSilence);
  if (status && tree.root == nullptr) status = CheckDirectives(text, file_name);
  if (!status) return Fail(std::move(status.error()));
  return tree;
}

const YamlEntry* Find(const YamlNode& mapping, std::string_view key) {
  const auto found = std::ranges::find_if(
      mapping.entries, [key](const YamlEntry& entry) { return entry.key->text == key; });
  return found == mapping.entries.end() ? nullptr : &*found;
}

std::string_view Describe(YamlNode::Kind kind) {
  switch (kind) {
    case Kind::kNull:
      return "empty";
    case Kind::kScalar:
      return "a single value";
    case Kind::kSequence:
      return "a list";
    case Kind::kMapping:
      return "a mapping";
  }
  return "unknown";
}

}  // namespace weir
