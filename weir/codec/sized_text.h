// Texts that are written twice: once to compute their size, then into one allocation of that size.
// The same code counts and writes, so the two cannot disagree.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir {

/// A sink that counts bytes. A writer calls Write(size, fill) of a sink for each piece, where
/// fill(char*) writes exactly `size` bytes.
struct TextSize {
  std::size_t size = 0;

  template <class Fill>
  void Write(std::size_t bytes, const Fill& /*fill*/) {
    size += bytes;
  }
};

/// A sink that writes into memory of the size that TextSize has counted.
struct TextCursor {
  char* at;

  template <class Fill>
  void Write(std::size_t bytes, const Fill& fill) {
    fill(at);
    at += bytes;
  }
};

/// Resizes `text`, without first zeroing the bytes that `fill` writes.
template <class Fill>
void ResizeAndOverwrite(std::string& text, std::size_t size, const Fill& fill) {
  // The size that is passed in is not used: libstdc++ 12 passes the capacity of a string that grew.
  text.resize_and_overwrite(size, [&](char* begin, std::size_t) {
    fill(begin);
    return size;
  });
}

template <class Sink>
void Put(Sink& sink, std::string_view text) {
  sink.Write(text.size(), [text](char* at) { text.copy(at, text.size()); });
}

/// Appends the text that `write` writes to a sink. REQUIRES: `write` writes the same each time.
template <class WriteTo>
void AppendSized(std::string& text, const WriteTo& write) {
  const std::size_t before = text.size();
  TextSize counted;
  write(counted);
  ResizeAndOverwrite(text, before + counted.size, [&](char* begin) {
    TextCursor cursor{begin + before};
    write(cursor);
  });
}

/// Returns the text that `write` writes as a new string, with one allocation of its size.
template <class WriteTo>
std::string WriteSized(const WriteTo& write) {
  std::string text;
  AppendSized(text, write);
  return text;
}

}  // namespace weir
