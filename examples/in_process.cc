// Limits inside one process: a pool of threads that works off jobs of several tenants, at most 50
// jobs a second in all and 10 a second for each tenant.
//
//   in_process
#include <atomic>
#include <cstdio>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "weir/bucket.h"

namespace {

const std::string kTenants[] = {"ann", "bob", "cid"};

struct Limits {
  weir::AtomicBucket<weir::SteadyClock> all{weir::PerSecond(50), weir::SteadyClock{}};
  weir::KeyedBucket<std::string, weir::SteadyClock> each{weir::PerSecond(10), weir::SteadyClock{}};

  // Takes from both buckets or from none.
  bool Admit(const std::string& tenant) {
    if (!each.TryTake(tenant)) return false;
    if (all.TryTake()) return true;
    each.Return(tenant, 1);
    return false;
  }
};

}  // namespace

int main() {
  Limits limits;
  std::atomic<int> admitted = 0;
  std::atomic<int> refused = 0;
  std::vector<std::jthread> pool;
  for (int thread = 0; thread < 4; ++thread) {
    pool.emplace_back([&] {
      for (int job = 0; job < 30; ++job) {
        const bool admits =
            limits.Admit(kTenants[static_cast<std::size_t>(job) % std::size(kTenants)]);
        ++(admits ? admitted : refused);
      }
    });
  }
  pool.clear();  // joins
  std::printf("%d admitted, %d refused\n", admitted.load(), refused.load());
  return 0;
}
