// What the calls on one table share.
#pragma once

#include <optional>
#include <string>

#include "weir/aws/json_client.h"
#include "weir/base/mutex.h"
#include "weir/base/rng.h"
#include "weir/dynamodb/batch_backoff.h"
#include "weir/dynamodb/table_layout.h"
#include "weir/runtime/scheduler.h"

namespace weir::dynamo {

/// The client and scheduler of a table, its name and layout, and the random numbers of its pauses.
/// Client, scheduler and layout must outlive it, and it must outlive every call. Thread-safe.
class TableAccess {
 public:
  TableAccess(JsonClient& its_client, Scheduler& its_scheduler, std::string its_name,
              std::uint64_t seed, const TableLayout& its_layout)
      : client(its_client),
        scheduler(its_scheduler),
        name(std::move(its_name)),
        layout(its_layout),
        rng_(seed) {}

  JsonClient& client;
  Scheduler& scheduler;
  const std::string name;
  const TableLayout& layout;

  /// Returns when to send again; nothing if there are no pauses left, or not enough time.
  std::optional<Instant> NextTryAt(BatchBackoff& backoff) {
    const MutexLock lock(mutex_);
    return backoff.Next(scheduler.clock().Now(), rng_);
  }

 private:
  Mutex mutex_;
  Rng rng_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::dynamo
