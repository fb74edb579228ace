#include "weir/rules/rule.h"

#include "weir/model/quoted.h"

namespace weir::rules {
namespace {

constexpr std::size_t kMaxDefaultName = 256;
constexpr std::string_view kCut = "...";

}  // namespace

std::string TextOf(const EntryPattern& entry) {
  return PrintableAscii(entry.key) + '=' + PrintableAscii(entry.text) +
         (entry.kind == EntryPattern::Kind::kPrefix ? "*" : "");
}

std::string DefaultName(const Rule& rule) {
  std::string name = PrintableAscii(rule.domain);
  char before = '/';
  for (const EntryPattern& entry : rule.match) {
    name += before + TextOf(entry);
    before = ',';
  }
  if (name.size() <= kMaxDefaultName) return name;
  return name.substr(0, kMaxDefaultName - kCut.size()).append(kCut);
}

std::size_t TextBytesOf(const Rule& rule) {
  std::size_t bytes = rule.name.size() + rule.entity.text().size() + rule.resource.text().size();
  for (const EntryPattern& entry : rule.match) bytes += entry.key.size() + entry.text.size();
  for (const std::string& name : rule.replaces) bytes += name.size();
  return bytes;
}

}  // namespace weir::rules
