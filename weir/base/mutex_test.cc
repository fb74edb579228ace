#include "weir/base/mutex.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <thread>
#include <vector>

namespace weir {
namespace {

bool FreeForOthers(Mutex& mutex) {
  bool free = false;
  std::jthread([&] {
    if (mutex.try_lock()) {
      free = true;
      mutex.unlock();
    }
  }).join();
  return free;
}

TEST(MutexLock, HoldsItsMutexForTheScope) {
  Mutex mutex;
  {
    const MutexLock lock(mutex);
    EXPECT_FALSE(FreeForOthers(mutex));
  }
  EXPECT_TRUE(FreeForOthers(mutex));
}

TEST(MutexLock, LetsOneThreadInAtATime) {
  constexpr int kThreads = 4, kRounds = 5'000;
  Mutex mutex;
  int count = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kRounds; ++i) {
          const MutexLock lock(mutex);
          ++count;
        }
      });
    }
  }
  EXPECT_EQ(count, kThreads * kRounds);
}

TEST(Mutex, MayBeWaitedOn) {
  Mutex mutex;
  std::condition_variable_any changed;
  bool ready = false;
  std::jthread other([&] {
    const MutexLock lock(mutex);
    ready = true;
    changed.notify_one();
  });
  const MutexLock lock(mutex);
  changed.wait(mutex, [&] { return ready; });
  EXPECT_TRUE(ready);
}

}  // namespace
}  // namespace weir
