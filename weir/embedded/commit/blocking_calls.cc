#include "weir/embedded/commit/blocking_calls.h"

#include <fmt/format.h>

namespace weir {

Status BlockingCalls::Admit() {
  const MutexLock lock(mutex_);
  if (count_ >= most_) {
    return Fail(
        Code::kUnavailable,
        fmt::format("{}: too many calls wait for the file ({}); try again later", name_, most_));
  }
  ++count_;
  return {};
}

void BlockingCalls::Release() {
  const MutexLock lock(mutex_);
  --count_;
}

Error BlockingCalls::TooLate(bool begun) const {
  return {Code::kDeadlineExceeded,
          fmt::format("{}: {}", name_,
                      begun ? "the file was too slow; the call may take effect"
                            : "the deadline passed before anything was done")};
}

}  // namespace weir
