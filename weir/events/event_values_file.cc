#include "weir/events/event_values_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "weir/model/quoted.h"

namespace weir {
namespace {

using Kind = YamlNode::Kind;
using Operator = NumericTest::Bound::Operator;

/// Maximum number of parts to which the aliases of one file may unfold.
constexpr std::size_t kMaxParts = 100'000;

constexpr std::string_view kTestsExample = "a list such as [TERMINATED, {prefix: job-}]";
constexpr std::string_view kNumericExample = R"(one or two bounds such as [">", 0, "<=", 5])";
constexpr std::string_view kValueExample = "a text, a number, true, false or null";

constexpr std::array<std::string_view, 7> kOperations = {
    "exists", "prefix", "suffix", "equals-ignore-case", "wildcard", "anything-but", "numeric"};
constexpr std::array<std::pair<std::string_view, TextTest::Kind>, 4> kTextKinds = {
    {{"prefix", TextTest::Kind::kPrefix},
     {"suffix", TextTest::Kind::kSuffix},
     {"equals-ignore-case", TextTest::Kind::kEqualsIgnoreCase},
     {"wildcard", TextTest::Kind::kWildcard}}};
constexpr std::array<std::string_view, 4> kTextOperations = {"prefix", "suffix",
                                                             "equals-ignore-case", "wildcard"};

constexpr std::array<std::pair<std::string_view, Operator>, 5> kOperators = {
    {{"=", Operator::kEqual},
     {"<", Operator::kBelow},
     {"<=", Operator::kAtMost},
     {">", Operator::kAbove},
     {">=", Operator::kAtLeast}}};

template <class Named>
auto FindNamed(const Named& named, std::string_view name)
    -> std::optional<typename Named::value_type::second_type> {
  const auto found = std::ranges::find(named, name, &Named::value_type::first);
  if (found == named.end()) return std::nullopt;
  return found->second;
}

std::optional<double> NumberIn(const YamlNode& node) {
  if (node.kind != Kind::kScalar || !node.is_plain) return std::nullopt;
  const auto value = nlohmann::json::parse(node.text, nullptr, /*allow_exceptions=*/false);
  if (!value.is_number()) return std::nullopt;
  return value.get<double>();
}

std::optional<bool> TruthIn(const YamlNode& node) {
  if (node.kind != Kind::kScalar || !node.is_plain) return std::nullopt;
  if (node.text == "true") return true;
  if (node.text == "false") return false;
  return std::nullopt;
}

}  // namespace

Status EventValueReader::CountPart(const YamlNode& node, const EventPlace& place) {
  if (++parts_ > kMaxParts || place.level > static_cast<int>(kMaxYamlDepth)) {
    return checks_.Refuse(node.line, place.where + ": aliases unfold to too many parts",
                          "fewer aliases, and none inside the part to which it refers");
  }
  return {};
}

Result<std::vector<ValueTest>> EventValueReader::ReadTests(const YamlNode& node,
                                                           const EventPlace& place) {
  WEIR_RETURN_IF_ERROR(checks_.Expect(Kind::kSequence, node, place.where, kTestsExample));
  if (node.elements.empty()) {
    return checks_.Refuse(node.line, place.where + " is empty", kTestsExample);
  }
  std::vector<ValueTest> tests;
  for (const YamlNode* element : node.elements) {
    WEIR_ASSIGN_OR_RETURN(ValueTest test, ReadTest(*element, place));
    tests.push_back(std::move(test));
  }
  return tests;
}

Result<ValueTest> EventValueReader::ReadTest(const YamlNode& node, const EventPlace& place) {
  WEIR_RETURN_IF_ERROR(CountPart(node, place));
  if (node.kind != Kind::kMapping) {
    WEIR_ASSIGN_OR_RETURN(PlainValue value, ReadPlain(node, place));
    return EqualsTest{std::move(value)};
  }
  WEIR_RETURN_IF_ERROR(checks_.ExpectKeys(node, place.where, kOperations));
  if (node.entries.size() != 1) {
    return checks_.Refuse(
        node.line,
        fmt::format("{}: {} tests in one pair of braces", place.where, node.entries.size()),
        "one in each pair");
  }
  return ReadOperation(node.entries[0], place.Below(node.entries[0].key->text));
}

Result<ValueTest> EventValueReader::ReadOperation(const YamlEntry& operation,
                                                  const EventPlace& place) {
  const std::string& name = operation.key->text;
  if (name == "exists") return ReadExists(*operation.value, place);
  if (name == "anything-but") return ReadAnythingBut(*operation.value, place);
  if (name == "numeric") return ReadNumeric(*operation.value, place);
  return ReadText(operation, place);
}

Result<ExistsTest> EventValueReader::ReadExists(const YamlNode& node,
                                                const EventPlace& place) const {
  if (const auto truth = TruthIn(node)) return ExistsTest{*truth};
  return checks_.Refuse(node.line, place.where + " is neither true nor false", "one of them");
}

Result<TextTest> EventValueReader::ReadText(const YamlEntry& operation,
                                            const EventPlace& place) const {
  const auto kind = FindNamed(kTextKinds, operation.key->text);
  const YamlNode& text = *operation.value;
  WEIR_RETURN_IF_ERROR(checks_.Expect(Kind::kScalar, text, place.where, "a text"));
  if (kind && !text.text.empty()) return TextTest{*kind, text.text};
  return checks_.Refuse(text.line, place.where + " is empty", "a text");
}

// Reads a value, a list of values, or a test of strings with one of these.
Result<AnythingButTest> EventValueReader::ReadAnythingBut(const YamlNode& node,
                                                          const EventPlace& place) {
  AnythingButTest test;
  const bool is_text_test = node.kind == Kind::kMapping;
  if (is_text_test) WEIR_RETURN_IF_ERROR(checks_.ExpectKeys(node, place.where, kTextOperations));
  if (is_text_test && node.entries.size() != 1) {
    return checks_.Refuse(node.line, place.where + " needs exactly one test", "{prefix: job-}");
  }
  const YamlNode& given = is_text_test ? *node.entries[0].value : node;
  const std::vector<const YamlNode*> one{&given};
  const auto& values = given.kind == Kind::kSequence ? given.elements : one;
  if (values.empty()) return checks_.Refuse(given.line, place.where + " is empty", kValueExample);
  for (const YamlNode* value : values) {
    WEIR_RETURN_IF_ERROR(CountPart(*value, place));
    if (is_text_test) {
      WEIR_ASSIGN_OR_RETURN(TextTest text, ReadText({node.entries[0].key, value}, place));
      test.none_of.emplace_back(std::move(text));
    } else {
      WEIR_ASSIGN_OR_RETURN(PlainValue plain, ReadPlain(*value, place));
      test.none_of.emplace_back(EqualsTest{std::move(plain)});
    }
  }
  return test;
}

Result<NumericTest> EventValueReader::ReadNumeric(const YamlNode& node,
                                                  const EventPlace& place) const {
  WEIR_RETURN_IF_ERROR(checks_.Expect(Kind::kSequence, node, place.where, kNumericExample));
  const auto& elements = node.elements;
  if (elements.size() != 2 && elements.size() != 4) {
    return checks_.Refuse(node.line, fmt::format("{} has {} parts", place.where, elements.size()),
                          kNumericExample);
  }
  NumericTest test;
  for (std::size_t i = 0; i < elements.size(); i += 2) {
    WEIR_ASSIGN_OR_RETURN(const Bound bound, ReadBound(*elements[i], *elements[i + 1], place));
    test.bounds.push_back(bound);
  }
  return test;
}

Result<EventValueReader::Bound> EventValueReader::ReadBound(const YamlNode& op,
                                                            const YamlNode& number,
                                                            const EventPlace& place) const {
  const auto known = FindNamed(kOperators, op.text);
  if (!known) {
    return checks_.Refuse(op.line, fmt::format("{}: operator {}", place.where, Quoted(op.text)),
                          R"("=", "<", "<=", ">" or ">=")");
  }
  const auto value = NumberIn(number);
  if (value) return Bound{*known, *value};
  return checks_.Refuse(number.line,
                        fmt::format("{}: no number: {}", place.where, Quoted(number.text)),
                        kNumericExample);
}

Result<PlainValue> EventValueReader::ReadPlain(const YamlNode& node,
                                               const EventPlace& place) const {
  if (node.kind == Kind::kNull) return std::monostate();
  WEIR_RETURN_IF_ERROR(checks_.Expect(Kind::kScalar, node, place.where, kValueExample));
  if (const auto truth = TruthIn(node)) return *truth;
  if (const auto number = NumberIn(node)) return *number;
  return node.text;
}

}  // namespace weir
