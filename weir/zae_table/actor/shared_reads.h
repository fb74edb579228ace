// Shares a read among callers that request the same buckets at the same time.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "weir/base/done.h"
#include "weir/base/mutex.h"
#include "weir/runtime/deadline.h"
#include "weir/store/bucket/bucket_store.h"

namespace weir::dynamo {

/// One shared read is in flight for each list of buckets. The result of the read is reported to all
/// callers that joined meanwhile. At most as many callers are stored as there are calls in flight.
/// Thread-safe.
class SharedReads {
 public:
  using Records = std::vector<std::optional<BucketRecord>>;

  enum class Share {
    kFirst,   ///< `done` was taken; the caller reads, and passes the result to End
    kShared,  ///< `done` was taken; the read in flight completes it
    kAlone,   ///< `done` was not taken: the read in flight may end too late for this deadline
  };
  /// Joins the read in flight of these buckets, or begins one.
  Share JoinRead(const std::vector<BucketKey>& buckets, Deadline deadline, Done<Records>& done);
  struct Caller {
    Deadline deadline = Deadline::Never();
    Done<Records> done{};
  };
  /// Reports the result to all callers that joined, without a lock. The last of their callbacks may
  /// destroy this object. Returns the callers to whom a deadline error does not apply, since they
  /// have more time than the read had: they read again.
  std::vector<Caller> End(const std::vector<BucketKey>& buckets, const Result<Records>& records);

 private:
  struct Flight {
    Deadline deadline = Deadline::Never();
    std::vector<Caller> callers{};
  };
  Mutex mutex_;
  std::map<std::vector<BucketKey>, Flight> flights_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::dynamo
