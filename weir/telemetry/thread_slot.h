// Chooses the stripe of a striped metric that a thread writes to.
#pragma once

#include <cstdint>

#include "weir/base/api.h"

namespace weir {

inline constexpr std::size_t kCacheLine = 64;

namespace internal {
/// 0 until the thread has a number. It is constant-initialised, so that reading it costs one load.
inline constinit thread_local std::uint32_t thread_slot = 0;
/// Gives the calling thread its number, and returns it.
WEIR_API std::uint32_t AssignThreadSlot();
}  // namespace internal

/// Returns a number that the calling thread keeps for its life, never 0; threads get numbers in
/// turn. Its low bits choose a stripe. Two threads that share a stripe are slower, but the results
/// are correct.
inline std::uint32_t ThreadSlot() {
  const std::uint32_t slot = internal::thread_slot;
  return slot != 0 ? slot : internal::AssignThreadSlot();
}

}  // namespace weir
