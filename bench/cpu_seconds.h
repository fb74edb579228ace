// The CPU time of a benchmark's process.
#pragma once

#include <sys/resource.h>

namespace weir {

/// Returns the user and system time of all threads since the process started.
inline double CpuSeconds() {
  const auto seconds = [](timeval time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace weir
