// Which stripe of a striped metric a thread writes to.
#pragma once

#include <cstdint>

namespace weir {

inline constexpr std::size_t kCacheLine = 64;

namespace internal {
/// 0 until the thread has one. Constant-initialised, so that reading it costs one load.
inline constinit thread_local std::uint32_t thread_slot = 0;
std::uint32_t GiveThreadSlot();
}  // namespace internal

/// A number the calling thread keeps for its life; threads get them in turn. Its low bits choose a
/// stripe: two threads that share one are slower, not wrong.
inline std::uint32_t ThreadSlot() {
  const std::uint32_t slot = internal::thread_slot;
  return slot != 0 ? slot : internal::GiveThreadSlot();
}

}  // namespace weir
