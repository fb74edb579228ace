// Writing JSON to a sink (weir/aws/sized_text.h): CborWriter's verbs, so that a body is described
// once for both. Nothing is kept of what was written.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

#include "weir/aws/json_text.h"
#include "weir/aws/sized_text.h"
#include "weir/kinesis/base64.h"

namespace weir::kinesis {

template <class Sink>
class JsonWriter {
 public:
  explicit JsonWriter(Sink& sink) : sink_(sink) {}

  void OpenMap(std::size_t /*pairs*/) { Open("{"); }
  void CloseMap() { Close("}"); }
  void OpenArray(std::size_t /*items*/) { Open("["); }
  void CloseArray() { Close("]"); }

  /// REQUIRES: nothing in it needs an escape.
  void Name(std::string_view name) {
    Separate();
    Put(sink_, "\"");
    Put(sink_, name);
    Put(sink_, "\":");
    is_first_ = true;
  }
  /// REQUIRES: UTF-8.
  void Text(std::string_view text) {
    Separate();
    WriteJson(sink_, text);
  }
  /// In base64.
  void Bytes(std::string_view bytes) {
    Separate();
    Put(sink_, "\"");
    sink_.Write(Base64Size(bytes.size()), [bytes](char* at) { WriteBase64(at, bytes); });
    Put(sink_, "\"");
  }
  void Number(std::uint64_t number) {
    Separate();
    char digits[20];
    Put(sink_, {digits, std::to_chars(digits, digits + sizeof(digits), number).ptr});
  }

 private:
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
  bool is_first_ = true;  ///< in its map or array, or after its name
};

}  // namespace weir::kinesis
