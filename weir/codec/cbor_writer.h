// A writer of CBOR (RFC 8949) to a sink (sized_text.h), with definite lengths and the shortest
// arguments. It stores none of the text that it has written.
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/codec/sized_text.h"

namespace weir {

template <class Sink>
class CborWriter {
 public:
  explicit CborWriter(Sink& sink) : sink_(sink) {}

  /// Begins a map. The caller then writes this number of pairs of a Name and a value, and calls
  /// CloseMap, which does nothing here but is needed by other formats.
  void OpenMap(std::size_t pairs) { Head(0xa0, pairs); }
  void CloseMap() {}
  /// Begins an array. The caller then writes this number of values.
  void OpenArray(std::size_t items) { Head(0x80, items); }
  void CloseArray() {}

  void Name(std::string_view name) { Text(name); }
  /// REQUIRES: `text` is UTF-8.
  void Text(std::string_view text) {
    Head(0x60, text.size());
    Put(sink_, text);
  }
  void Bytes(std::string_view bytes) {
    Head(0x40, bytes.size());
    Put(sink_, bytes);
  }
  void Number(std::uint64_t number) { Head(0x00, number); }

 private:
  void Head(unsigned major, std::uint64_t argument) {
    if (argument < 24) return Head(major + static_cast<unsigned>(argument), argument, 0);
    if (argument <= 0xff) return Head(major + 24, argument, 1);
    if (argument <= 0xffff) return Head(major + 25, argument, 2);
    if (argument <= 0xffff'ffff) return Head(major + 26, argument, 4);
    Head(major + 27, argument, 8);
  }

  void Head(unsigned first, std::uint64_t argument, unsigned bytes) {
    sink_.Write(1 + bytes, [first, argument, bytes](char* at) {
      *at = static_cast<char>(first);
      for (unsigned i = 0; i < bytes; ++i) {
        at[1 + i] = static_cast<char>(argument >> 8 * (bytes - 1 - i));
      }
    });
  }

  Sink& sink_;
};

}  // namespace weir
