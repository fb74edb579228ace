#include "weir/dynamodb/value.h"

#include <absl/strings/escaping.h>

#include "weir/base/integer_text.h"

namespace weir::dynamo {
namespace {

template <class T>
const T* Get(const Item& item, std::string_view name) {
  const auto found = item.find(name);
  return found == item.end() ? nullptr : std::get_if<T>(&found->second.held);
}

template <class Range, class Append>
void AppendJoined(std::string& out, const Range& range, Append append) {
  bool first = true;
  for (const auto& element : range) {
    if (!first) out += ',';
    first = false;
    append(element);
  }
}

struct Writer {
  std::string& out;

  void operator()(const Null&) const { out += R"({"NULL":true})"; }
  void operator()(bool flag) const { out += flag ? R"({"BOOL":true})" : R"({"BOOL":false})"; }
  void operator()(const std::string& text) const {
    out += R"({"S":)";
    AppendJson(out, std::string_view(text));
    out += '}';
  }
  void operator()(const Number& number) const {
    out += R"({"N":")";
    out += number.text;
    out += R"("})";
  }
  void operator()(const StringSet& set) const {
    out += R"({"SS":[)";
    AppendJoined(out, set.members, [&](const auto& s) { AppendJson(out, std::string_view(s)); });
    out += "]}";
  }
  void operator()(const List& list) const {
    out += R"({"L":[)";
    AppendJoined(out, list, [&](const Value& value) { AppendJson(out, value); });
    out += "]}";
  }
  void operator()(const Item& item) const {
    out += R"({"M":)";
    AppendJson(out, item);
    out += '}';
  }
  void operator()(const Bytes& bytes) const {
    out += R"({"B":")";
    out += absl::Base64Escape(bytes.content);
    out += R"("})";
  }
  void operator()(const Opaque& opaque) const { out += opaque.json; }
};

}  // namespace

Value Of(std::int64_t number) { return {Number{std::to_string(number)}}; }
Value Of(std::string text) { return {std::move(text)}; }
Value Of(std::string_view text) { return {std::string(text)}; }
Value Of(const char* text) { return {std::string(text)}; }
Value Of(bool flag) { return {flag}; }

std::optional<std::int64_t> GetNumber(const Item& item, std::string_view name) {
  const auto* number = Get<Number>(item, name);
  return number == nullptr ? std::nullopt : ReadInteger<std::int64_t>(number->text);
}

const std::string* GetText(const Item& item, std::string_view name) {
  return Get<std::string>(item, name);
}

std::optional<bool> GetFlag(const Item& item, std::string_view name) {
  const bool* flag = Get<bool>(item, name);
  return flag == nullptr ? std::nullopt : std::optional(*flag);
}

const StringSet* GetSet(const Item& item, std::string_view name) {
  return Get<StringSet>(item, name);
}

const Item* GetMap(const Item& item, std::string_view name) { return Get<Item>(item, name); }

const List* GetList(const Item& item, std::string_view name) { return Get<List>(item, name); }

const std::string* GetBytes(const Item& item, std::string_view name) {
  const auto* bytes = Get<Bytes>(item, name);
  return bytes == nullptr ? nullptr : &bytes->content;
}

void AppendJson(std::string& out, const Value& value) { std::visit(Writer{out}, value.held); }

void AppendJson(std::string& out, const Item& item) {
  out += '{';
  AppendJoined(out, item, [&](const auto& attribute) {
    AppendJson(out, std::string_view(attribute.first));
    out += ':';
    AppendJson(out, attribute.second);
  });
  out += '}';
}

}  // namespace weir::dynamo
