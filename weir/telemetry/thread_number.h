// Numbers threads, so that each can use its own slot of a structure that is striped by thread.
#pragma once

#include <cstdint>

#include "weir/base/api.h"

namespace weir {

inline constexpr std::size_t kCacheLine = 64;

namespace internal {
/// 0 until the thread has a number. It is constant-initialised, so that reading it costs one load.
inline constinit thread_local std::uint32_t thread_number = 0;
/// Gives the calling thread its number, and returns it.
WEIR_API std::uint32_t AssignThreadNumber();
}  // namespace internal

/// Returns a number that the calling thread keeps for its life; never 0. Threads get consecutive
/// numbers. Callers use it modulo their number of slots or stripes. Threads that get the same slot
/// are slower, but the results are correct.
inline std::uint32_t ThreadNumber() {
  const std::uint32_t number = internal::thread_number;
  return number != 0 ? number : internal::AssignThreadNumber();
}

}  // namespace weir
