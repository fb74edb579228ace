#include "weir/events/event_pattern_file.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "weir/model/quoted.h"

namespace weir {
namespace {

using Kind = YamlNode::Kind;

constexpr std::array<std::string_view, 5> kPredicateKeys = {"path", "equals", "matches", "and",
                                                            "or"};

}  // namespace

Result<EventPath> EventPatternReader::ReadPath(const YamlNode& node,
                                               const std::string& where) const {
  WEIR_RETURN_IF_ERROR(checks().Expect(Kind::kScalar, node, where, "a path such as detail.state"));
  auto path = ParseEventPath(node.text);
  if (!path) return checks().At(node, {path.error().code, where + ": " + path.error().message});
  return path;
}

Result<EventPattern> EventPatternReader::ReadFields(const YamlNode& node, const EventPlace& place) {
  WEIR_RETURN_IF_ERROR(values_.CountPart(node, place));
  constexpr std::string_view kRight = "a mapping such as {detail.state: [TERMINATED]}";
  WEIR_RETURN_IF_ERROR(checks().Expect(Kind::kMapping, node, place.where, kRight));
  if (node.entries.empty()) return checks().Refuse(node.line, place.where + " is empty", kRight);
  EventPattern pattern;
  for (const YamlEntry& entry : node.entries) {
    const EventPlace below = place.Below(Quoted(entry.key->text));
    if (entry.key->text == "$or") {
      WEIR_ASSIGN_OR_RETURN(pattern.one_of, ReadChoices(*entry.value, below));
    } else {
      WEIR_ASSIGN_OR_RETURN(EventPattern field, ReadField(entry, below));
      pattern.all_of.push_back(std::move(field));
    }
  }
  return pattern;
}

Result<EventPattern> EventPatternReader::ReadField(const YamlEntry& entry,
                                                   const EventPlace& place) {
  EventPattern field;
  if (entry.value->kind == Kind::kMapping) {
    WEIR_ASSIGN_OR_RETURN(field, ReadFields(*entry.value, place));
  } else {
    WEIR_ASSIGN_OR_RETURN(field.any_of, values_.ReadTests(*entry.value, place));
  }
  WEIR_ASSIGN_OR_RETURN(field.path, ReadPath(*entry.key, place.where));
  return field;
}

Result<std::vector<EventPattern>> EventPatternReader::ReadChoices(const YamlNode& node,
                                                                  const EventPlace& place) {
  constexpr std::string_view kRight = "a list of patterns such as [{source: [aws.emr]}]";
  WEIR_RETURN_IF_ERROR(checks().Expect(Kind::kSequence, node, place.where, kRight));
  if (node.elements.empty()) return checks().Refuse(node.line, place.where + " is empty", kRight);
  std::vector<EventPattern> choices;
  for (const YamlNode* element : node.elements) {
    WEIR_ASSIGN_OR_RETURN(EventPattern choice, ReadFields(*element, place.Below("choice")));
    choices.push_back(std::move(choice));
  }
  return choices;
}

Result<EventPredicate> EventPatternReader::ReadPredicate(const YamlNode& node,
                                                         const EventPlace& place) {
  WEIR_RETURN_IF_ERROR(values_.CountPart(node, place));
  WEIR_RETURN_IF_ERROR(checks().ExpectKeys(node, place.where, kPredicateKeys));
  EventPredicate predicate;
  WEIR_ASSIGN_OR_RETURN(predicate.own, ReadOwnTest(node, place));
  if (const YamlEntry* all = Find(node, "and")) {
    WEIR_ASSIGN_OR_RETURN(predicate.all_of, ReadPredicates(*all->value, place.Below("and")));
  }
  if (const YamlEntry* any = Find(node, "or")) {
    WEIR_ASSIGN_OR_RETURN(predicate.any_of, ReadPredicates(*any->value, place.Below("or")));
  }
  return predicate;
}

Result<EventPattern> EventPatternReader::ReadOwnTest(const YamlNode& node,
                                                     const EventPlace& place) {
  constexpr std::string_view kRight =
      "'{path: detail.state, equals: COMPLETED}' or 'matches: [...]' in place of equals";
  const YamlEntry* path = Find(node, "path");
  if (path == nullptr) return checks().Refuse(node.line, place.where + " has no path", kRight);
  const YamlEntry* equals = Find(node, "equals");
  const YamlEntry* matches = Find(node, "matches");
  if ((equals == nullptr) == (matches == nullptr)) {
    return checks().Refuse(node.line, place.where + " needs exactly one of equals and matches",
                           kRight);
  }
  EventPattern own;
  WEIR_ASSIGN_OR_RETURN(own.path, ReadPath(*path->value, place.where + ", path"));
  if (matches != nullptr) {
    WEIR_ASSIGN_OR_RETURN(own.any_of, values_.ReadTests(*matches->value, place.Below("matches")));
  } else {
    WEIR_ASSIGN_OR_RETURN(PlainValue value,
                          values_.ReadPlain(*equals->value, place.Below("equals")));
    own.any_of.emplace_back(EqualsTest{std::move(value)});
  }
  return own;
}

Result<std::vector<EventPredicate>> EventPatternReader::ReadPredicates(const YamlNode& node,
                                                                       const EventPlace& place) {
  constexpr std::string_view kRight = "a list of predicates such as {path: detail.name, equals: x}";
  WEIR_RETURN_IF_ERROR(checks().Expect(Kind::kSequence, node, place.where, kRight));
  if (node.elements.empty()) return checks().Refuse(node.line, place.where + " is empty", kRight);
  std::vector<EventPredicate> predicates;
  for (const YamlNode* element : node.elements) {
    WEIR_ASSIGN_OR_RETURN(EventPredicate predicate, ReadPredicate(*element, place));
    predicates.push_back(std::move(predicate));
  }
  return predicates;
}

}  // namespace weir
