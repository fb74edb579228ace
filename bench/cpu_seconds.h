// What a benchmark's process has used of the processor.
#pragma once

#include <sys/resource.h>

namespace weir {

/// User and system time since it began, of all threads.
inline double CpuSeconds() {
  const auto seconds = [](timeval time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace weir
