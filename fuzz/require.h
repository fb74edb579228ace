// Functions that all fuzz targets share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "weir/base/result.h"
#include "weir/model/quoted.h"

/// libFuzzer calls this with each input. Always returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace weir {

/// Aborts with a message unless `holds`: a defect was found, and libFuzzer stores the input.
inline void Require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

/// Requires a line of visible characters, in UTF-8.
inline void RequireVisible(std::string_view text, std::string_view what) {
  Require(Printable(text) == text, what);
}

/// Requires of an error about invalid input: the right code, and a short, visible, non-empty line.
inline void RequireRefusal(const Error& error) {
  Require(error.code == Code::kInvalidArgument, "a refusal is kInvalidArgument");
  Require(!error.message.empty(), "a refusal says something");
  Require(error.message.size() < 20'000, "a refusal is short");
  RequireVisible(error.message, "a refusal is one visible line");
}

}  // namespace weir
