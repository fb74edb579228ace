// Writes JSON to a sink (weir/codec/sized_text.h), with the functions of CborWriter, so that one
// function writes a body in both formats. Keeps nothing of the text.
#pragma once

#include <absl/strings/escaping.h>

#include <charconv>
#include <cstdint>
#include <string_view>

#include "weir/codec/json_text.h"
#include "weir/codec/sized_text.h"

namespace weir::kinesis {

template <class Sink>
class JsonWriter {
 public:
  explicit JsonWriter(Sink& sink) : sink_(sink) {}

  void OpenMap(std::size_t /*pairs*/) { Open("{"); }
  void CloseMap() { Close("}"); }
  void OpenArray(std::size_t /*items*/) { Open("["); }
  void CloseArray() { Close("]"); }

  /// Writes the name of a member. REQUIRES: no character of it needs an escape.
  void Name(std::string_view name) {
    Separate();
    Put(sink_, "\"");
    Put(sink_, name);
    Put(sink_, "\":");
    is_first_ = true;
  }
  /// Writes a string. REQUIRES: UTF-8.
  void Text(std::string_view text) {
    Separate();
    WriteJson(sink_, text);
  }
  /// Writes a string in base64 (RFC 4648, section 4: the usual alphabet, padded).
  void Bytes(std::string_view bytes) {
    Separate();
    Put(sink_, "\"");
    const std::size_t size = (bytes.size() + 2) / 3 * 4;
    sink_.Write(size, [bytes, size](char* at) {
      absl::Base64Escape({bytes.data(), bytes.size()}).copy(at, size);
    });
    Put(sink_, "\"");
  }
  void Number(std::uint64_t number) {
    Separate();
    char digits[20];
    Put(sink_, {digits, std::to_chars(digits, digits + sizeof(digits), number).ptr});
  }
  /// Writes seconds since 1970 with three decimals, as the service writes times.
  void Time(std::uint64_t millis) {
    Number(millis / 1000);
    const char decimals[] = {'.', Digit(millis / 100), Digit(millis / 10), Digit(millis)};
    Put(sink_, {decimals, sizeof(decimals)});
  }

 private:
  static char Digit(std::uint64_t number) { return static_cast<char>('0' + number % 10); }
  void Open(std::string_view bracket) {
    Separate();
    Put(sink_, bracket);
    is_first_ = true;
  }
  void Close(std::string_view bracket) {
    Put(sink_, bracket);
    is_first_ = false;
  }
  void Separate() {
    if (!is_first_) Put(sink_, ",");
    is_first_ = false;
  }

  Sink& sink_;
  bool is_first_ = true;  ///< the next item is the first of its map or array, or follows its name
};

}  // namespace weir::kinesis
