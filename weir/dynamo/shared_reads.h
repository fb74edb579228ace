// Reads of the same buckets that are asked for at the same time.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "weir/base/done.h"
#include "weir/base/mutex.h"
#include "weir/runtime/deadline.h"
#include "weir/store/bucket_store.h"

namespace weir::dynamo {

/// One read in flight for each list of buckets; its result answers all callers that came meanwhile.
/// It holds no more callers than there are calls in flight. Thread-safe.
class SharedReads {
 public:
  using Records = std::vector<std::optional<BucketRecord>>;

  enum class Share {
    kFirst,   ///< `done` was taken; the caller reads, and hands the result to End
    kShared,  ///< `done` was taken; the read in flight answers it
    kAlone,   ///< `done` was not taken: the read in flight may end too late for this deadline
  };
  Share Join(const std::vector<BucketKey>& buckets, Deadline deadline, Done<Records>& done);
  /// Answers all that joined, under no lock. The last of them may destroy this.
  void End(const std::vector<BucketKey>& buckets, const Result<Records>& records);

 private:
  struct Flight {
    Deadline deadline = Deadline::Never();
    std::vector<Done<Records>> callers{};
  };
  Mutex mutex_;
  std::map<std::vector<BucketKey>, Flight> flights_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::dynamo
