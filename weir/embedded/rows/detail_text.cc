#include "weir/embedded/rows/detail_text.h"

#include <fmt/format.h>
#include <simdjson.h>

#include "weir/embedded/rows/bucket_codec.h"

namespace weir {
namespace {

namespace dom = simdjson::dom;

void Append(std::string& out, const AuditDetail::Parts& parts);

struct DetailWriter {
  std::string& out;

  void operator()(std::monostate) const { out += "null"; }
  void operator()(bool flag) const { out += flag ? "true" : "false"; }
  void operator()(std::int64_t number) const { out += fmt::format("{}", number); }
  void operator()(const std::string& text) const { AppendQuoted(out, text); }
  void operator()(const AuditDetail::List& list) const {
    out += '[';
    bool first = true;
    for (const AuditDetail& detail : list) {
      if (!std::exchange(first, false)) out += ',';
      std::visit(*this, detail.value);
    }
    out += ']';
  }
  void operator()(const AuditDetail::Parts& parts) const { Append(out, parts); }
};

void Append(std::string& out, const AuditDetail::Parts& parts) {
  out += '{';
  bool first = true;
  for (const auto& [name, part] : parts) {
    if (!std::exchange(first, false)) out += ',';
    AppendQuoted(out, name);
    out += ':';
    std::visit(DetailWriter{out}, part.value);
  }
  out += '}';
}

bool Read(const dom::element& element, AuditDetail& detail);

bool Read(const dom::object& object, AuditDetail::Parts& parts) {
  for (const auto& [name, value] : object) {
    if (!Read(value, parts[std::string(name)])) return false;
  }
  return true;
}

bool Read(const dom::array& array, AuditDetail::List& list) {
  for (const dom::element& element : array) {
    if (!Read(element, list.emplace_back())) return false;
  }
  return true;
}

// Numbers that are not whole are rejected: no writer of weir writes them.
bool Read(const dom::element& element, AuditDetail& detail) {
  switch (element.type()) {
    case dom::element_type::NULL_VALUE:
      return true;
    case dom::element_type::BOOL:
      detail.value = element.get_bool().value_unsafe();
      return true;
    case dom::element_type::INT64:
      detail.value = element.get_int64().value_unsafe();
      return true;
    case dom::element_type::STRING:
      detail.value = std::string(element.get_string().value_unsafe());
      return true;
    case dom::element_type::ARRAY:
      return Read(element.get_array().value_unsafe(), detail.value.emplace<AuditDetail::List>());
    case dom::element_type::OBJECT:
      return Read(element.get_object().value_unsafe(), detail.value.emplace<AuditDetail::Parts>());
    default:
      return false;
  }
}

}  // namespace

std::string ToText(const AuditDetail::Parts& parts) {
  std::string text;
  Append(text, parts);
  return text;
}

bool ReadParts(std::string_view text, AuditDetail::Parts& parts) {
  dom::parser parser;
  dom::object object;
  return !parser.parse(simdjson::padded_string(text)).get_object().get(object) &&
         Read(object, parts);
}

std::string ToText(const CountersByName& counters) {
  AuditDetail::Parts parts;
  for (const auto& [name, number] : counters) parts.emplace(name, AuditDetail{number});
  return ToText(parts);
}

bool ReadCounters(std::string_view text, CountersByName& counters) {
  AuditDetail::Parts parts;
  if (!ReadParts(text, parts)) return false;
  for (const auto& [name, part] : parts) {
    const auto* number = std::get_if<std::int64_t>(&part.value);
    if (number == nullptr) return false;
    counters.emplace(name, *number);
  }
  return true;
}

}  // namespace weir
