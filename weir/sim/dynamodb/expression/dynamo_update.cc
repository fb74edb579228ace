#include "weir/sim/dynamodb/expression/dynamo_update.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace weir::sim {
namespace {

using ActionKind = UpdateAction::Kind;
using ValueKind = NewValue::Kind;

constexpr std::array<std::pair<std::string_view, ActionKind>, 4> kSections = {
    {{"SET", ActionKind::kSet},
     {"ADD", ActionKind::kAdd},
     {"DELETE", ActionKind::kDelete},
     {"REMOVE", ActionKind::kRemove}}};

/// The names of types in AWS's messages about ADD and DELETE, in the order of ValueType.
constexpr std::array<std::string_view, 9> kLongNames = {
    "STRING", "NUMBER", "BOOLEAN", "NULL", "MAP", "LIST", "STRING_SET", "NUMBER_SET", "BINARY"};

class UpdateParser {
 public:
  explicit UpdateParser(ExpressionReader& reader) : reader_(reader) {}

  Result<Update> Parse() {
    std::set<ActionKind> seen;
    while (reader_.kind() != ExpressionReader::Kind::kEnd) {
      const auto* section = std::ranges::find_if(
          kSections, [this](const auto& candidate) { return reader_.At(candidate.first); });
      if (section == kSections.end()) return reader_.SyntaxError();
      if (!seen.insert(section->second).second) {
        return reader_.Invalid("The \"" + std::string(section->first) +
                               "\" section can only be used once in an update expression;");
      }
      reader_.Next();
      WEIR_RETURN_IF_ERROR(ParseSection(section->second));
    }
    return std::move(update_);
  }

 private:
  Status ParseSection(ActionKind kind) {
    do {
      UpdateAction action{.kind = kind, .path = {}, .value = {}};
      WEIR_ASSIGN_OR_RETURN(action.path, reader_.ReadPath());
      WEIR_RETURN_IF_ERROR(CheckPath(action.path));
      if (kind == ActionKind::kSet) {
        WEIR_RETURN_IF_ERROR(reader_.Expect("="));
        WEIR_ASSIGN_OR_RETURN(action.value, ParseNewValue());
      } else if (kind != ActionKind::kRemove) {
        WEIR_RETURN_IF_ERROR(ParseOperandOf(action));
      }
      update_.actions.push_back(std::move(action));
    } while (reader_.Take(","));
    return {};
  }

  Status CheckPath(const Path& path) const {
    for (const UpdateAction& other : update_.actions) {
      const Status apart = CheckApart(other.path, path);
      if (!apart) return reader_.Invalid(apart.error().message);
    }
    return {};
  }

  Status ParseOperandOf(UpdateAction& action) {
    if (reader_.kind() != ExpressionReader::Kind::kValue) return reader_.SyntaxError();
    WEIR_ASSIGN_OR_RETURN(action.value.value, reader_.ReadValue());
    const ValueType type = action.value.value.type();
    const bool is_set = type == ValueType::kStringSet || type == ValueType::kNumberSet;
    const bool add = action.kind == ActionKind::kAdd;
    if (is_set || (add && type == ValueType::kNumber)) return {};
    return reader_.Invalid(
        std::string("Incorrect operand type for operator or function; operator: ") +
        (add ? "ADD" : "DELETE") +
        ", operand type: " + std::string(kLongNames[static_cast<std::size_t>(type)]));
  }

  // Parses a term, a sum or a difference, with optional parentheses.
  Result<NewValue> ParseNewValue() {
    const bool in_parentheses = reader_.Take("(");
    WEIR_ASSIGN_OR_RETURN(NewValue value, ParseTerm());
    for (const auto& [symbol, kind] :
         {std::pair("+", ValueKind::kPlus), {"-", ValueKind::kMinus}}) {
      if (!reader_.Take(symbol)) continue;
      NewValue sum{.kind = kind, .value = {}, .path = {}, .parts = {}};
      sum.parts.push_back(std::move(value));
      WEIR_ASSIGN_OR_RETURN(sum.parts.emplace_back(), ParseTerm());
      WEIR_RETURN_IF_ERROR(CheckOperands(sum, symbol, ValueType::kNumber));
      value = std::move(sum);
      break;
    }
    if (in_parentheses) WEIR_RETURN_IF_ERROR(reader_.Expect(")"));
    return value;
  }

  Result<NewValue> ParseTerm() {
    if (reader_.AtFunction()) return ParseFunction();
    NewValue term;
    if (reader_.kind() == ExpressionReader::Kind::kValue) {
      WEIR_ASSIGN_OR_RETURN(term.value, reader_.ReadValue());
      return term;
    }
    term.kind = ValueKind::kPath;
    WEIR_ASSIGN_OR_RETURN(term.path, reader_.ReadPath());
    return term;
  }

  // Parses if_not_exists or list_append.
  Result<NewValue> ParseFunction() {
    const std::string name(reader_.token());
    NewValue call;
    if (name == "if_not_exists") {
      call.kind = ValueKind::kIfNotExists;
    } else if (name == "list_append") {
      call.kind = ValueKind::kListAppend;
    } else {
      return reader_.Invalid("Invalid function name; function: " + name);
    }
    reader_.Next();
    WEIR_RETURN_IF_ERROR(reader_.Expect("("));
    do {
      WEIR_ASSIGN_OR_RETURN(call.parts.emplace_back(), ParseTerm());
    } while (reader_.Take(","));
    WEIR_RETURN_IF_ERROR(reader_.Expect(")"));
    if (call.parts.size() != 2) {
      return reader_.Invalid(
          "Incorrect number of operands for operator or function; operator or function: " + name +
          ", number of operands: " + std::to_string(call.parts.size()));
    }
    if (call.kind == ValueKind::kListAppend) {
      WEIR_RETURN_IF_ERROR(CheckOperands(call, name, ValueType::kList));
      return call;
    }
    WEIR_RETURN_IF_ERROR(reader_.CountOperator());
    if (call.parts[0].kind != ValueKind::kPath) {
      return reader_.Invalid(
          "Operator or function requires a document path; operator or function: " + name);
    }
    call.path = std::move(call.parts[0].path);
    call.parts.erase(call.parts.begin());
    return call;
  }

  /// Counts the operator, and checks that its operands from the request have this type. The types
  /// of operands in the item are checked when the update is applied.
  Status CheckOperands(const NewValue& value, const std::string& name, ValueType type) {
    WEIR_RETURN_IF_ERROR(reader_.CountOperator());
    for (const NewValue& part : value.parts) {
      if (part.kind != ValueKind::kValue || part.value.type() == type) continue;
      return reader_.Invalid(
          "Incorrect operand type for operator or function; operator or function: " + name +
          ", operand type: " + std::string(Name(part.value.type())));
    }
    return {};
  }

  ExpressionReader& reader_;
  Update update_;
};

}  // namespace

Result<Update> ParseUpdate(std::string_view text, Placeholders& placeholders) {
  ExpressionReader reader("UpdateExpression", text, placeholders);
  WEIR_RETURN_IF_ERROR(reader.CheckSize());
  return UpdateParser(reader).Parse();
}

}  // namespace weir::sim
