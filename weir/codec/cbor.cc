#include "weir/codec/cbor.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <cstring>

namespace weir {
namespace {

constexpr unsigned kDeepest = 16;

/// Checks eight bytes at a time: most texts are short, and ASCII.
bool IsAscii(std::string_view text) {
  std::uint64_t bits = 0;
  for (; text.size() >= sizeof(bits); text.remove_prefix(sizeof(bits))) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), sizeof(word));
    bits |= word;
  }
  for (const char byte : text) bits |= static_cast<unsigned char>(byte);
  return (bits & 0x8080'8080'8080'8080U) == 0;
}

bool IsUtf8(std::string_view text) {
  return IsAscii(text) || simdjson::validate_utf8(text.data(), text.size());
}

}  // namespace

bool IsCborMap(std::string_view body) {
  return !body.empty() && (static_cast<unsigned char>(body[0]) & 0xe0) == 0xa0;
}

void CborReader::SetFault(const char* what) {
  if (fault_ == nullptr) {
    fault_ = what;
    fault_at_ = item_;
  }
  at_ = bytes_.size();
}

CborReader::Head CborReader::ReadHead() {
  item_ = at_;
  if (rest() == 0) {
    SetFault("the bytes end where an item is due");
    return {};
  }
  const unsigned first = static_cast<unsigned char>(bytes_[at_++]);
  Head head{.major = first >> 5, .info = first & 31, .argument = first & 31};
  if (head.info < 24) return head;
  // 24 to 27: an argument of 1, 2, 4 or 8 bytes. 28 to 30 are reserved. 31: of indefinite length,
  // or a break.
  const std::size_t length = head.endless() ? 0 : std::size_t{1} << (head.info - 24);
  if (length > 8) {
    SetFault("no such kind of item");
    return {};
  }
  if (rest() < length) {
    SetFault("an item is cut off");
    return {};
  }
  head.argument = 0;
  for (const char byte : bytes_.substr(at_, length)) {
    head.argument = head.argument << 8 | static_cast<unsigned char>(byte);
  }
  at_ += length;
  return head;
}

CborReader::Items CborReader::OpenItems(unsigned major) {
  const Head head = ReadHead();
  if (head.major == major) return BeginItems(head);
  SetFault(major == kMap ? "no map, where one is due" : "no array, where one is due");
  return {};
}

CborReader::Items CborReader::BeginItems(const Head& head) {
  // Each item takes at least one byte, so a higher count is a fault.
  const std::size_t most = head.major == kMap ? rest() / 2 : rest();
  if (!head.endless() && head.argument > most) {
    SetFault("more items are announced than there are bytes");
  }
  if (++depth_ > kDeepest) SetFault("items are nested too deep");
  if (fault_ != nullptr) return {};
  return {.left = head.argument, .endless = head.endless()};
}

bool CborReader::More(Items& items) {
  if (fault_ != nullptr) return false;
  const bool is_end = items.endless ? At(0xff, 0xff) : items.left == 0;
  if (!is_end) {
    if (!items.endless) --items.left;
    return true;
  }
  if (items.endless) ++at_;
  --depth_;
  return false;
}

std::string_view CborReader::TakeBytes(const Head& head) {
  if (head.argument > rest()) {
    SetFault("a string is cut off");
    return {};
  }
  const auto length = static_cast<std::size_t>(head.argument);
  const std::string_view string = bytes_.substr(at_, length);
  if (head.major == kText && !IsUtf8(string)) {
    SetFault("a text that is not UTF-8");
    return {};
  }
  at_ += length;
  return string;
}

std::string_view CborReader::ReadString(const Head& head) {
  if (!head.endless()) return TakeBytes(head);
  chunks_.clear();
  while (!At(0xff, 0xff)) {
    const Head chunk = ReadHead();
    if (chunk.major != head.major || chunk.endless())
      SetFault("a string has a chunk of another kind");
    if (fault_ != nullptr) return {};
    chunks_ += TakeBytes(chunk);
  }
  ++at_;
  return chunks_;
}

std::string_view CborReader::Text() {
  const Head head = ReadHead();
  if (head.major == kText) return ReadString(head);
  SetFault("no text, where one is due");
  return {};
}

void CborReader::CheckSimple(const Head& head) {
  if (head.endless()) SetFault("a break, where an item is due");
  if (head.info == 24 && head.argument < 32) SetFault("no such simple value");
}

void CborReader::Skip() {
  Head head = ReadHead();
  while (head.major == kTag && !head.endless()) head = ReadHead();
  switch (head.major) {
    case kBytes:
    case kText:
      ReadString(head);
      return;
    case kArray:
    case kMap:
      for (Items items = BeginItems(head); More(items);) {
        if (head.major == kMap) Skip();
        Skip();
      }
      return;
    case kSimple:
      return CheckSimple(head);
    default:
      if (head.endless()) SetFault("a number or a tag of indefinite length");
  }
}

Status CborReader::Finish() {
  item_ = at_;
  if (fault_ == nullptr && rest() != 0) SetFault("more than one item");
  if (fault_ == nullptr) return {};
  return Fail(Code::kDataLoss, fmt::format("byte {}: {}", fault_at_, fault_));
}

}  // namespace weir
