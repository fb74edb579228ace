// Whose turn it is to move a bucket's `rf`, inside this process.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <deque>
#include <functional>

#include "weir/base/mutex.h"
#include "weir/store/charge.h"

namespace weir::dynamo {

/// Two writes that move `rf` from one value exclude each other, so calls of one process that send
/// theirs at once only make each other fail. One at a time goes out; the next one is planned from
/// what that left. A queue for each bucket, first come first served. Thread-safe.
class WriteTurns {
 public:
  /// Plans again and sends: true if the turn is still needed, until Leave.
  using Turn = std::move_only_function<bool()>;

  /// True if the turn is the caller's at once; `turn` is then not used. Else `turn` runs later, in
  /// a Leave.
  bool Enter(const BucketKey& key, Turn turn);
  /// By whoever has the turn. Runs the next ones, under no lock, until one keeps it.
  void Leave(const BucketKey& key);

 private:
  Turn Next(const BucketKey& key);

  Mutex mutex_;
  /// Those that wait; a key is there while somebody has its turn.
  absl::flat_hash_map<BucketKey, std::deque<Turn>, BucketKeyHash> waiting_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::dynamo
