// Times of a bucket that are ahead of bucket time, because a boot ran under a wrong clock.
// Mechanism: docs/design/time.md.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "weir/store/bucket_state.h"
#include "weir/store/bucket_time.h"
#include "weir/telemetry/log.h"

namespace weir {

/// True if a time of the bucket is far ahead (IsFarAhead) of `now`.
bool HasTimeFarAhead(const BucketState& state, UnixMillis now);

/// Sets the times of the bucket that are far ahead of `now` to `now`. Its tokens stay, and so does
/// the time that those which left early need until they are full. Returns by how much the time that
/// was furthest was ahead; 0: none was far ahead.
milliseconds SetBackToNow(BucketState& state, UnixMillis now);

/// Collects the buckets that were set back, and writes them to the log when it is destroyed: make
/// it before the locks, so that it writes after their release. At most kMostNamed buckets have a
/// "clock.stored_time_ahead" each; of the others one "clock.stored_times_ahead" gives the number.
class AheadReport {
 public:
  static constexpr std::size_t kMostNamed = 10;

  /// `log` may be null; else it must outlive the report.
  explicit AheadReport(Log* log) : log_(log) {}
  ~AheadReport();
  AheadReport(const AheadReport&) = delete;
  AheadReport& operator=(const AheadReport&) = delete;
  void Add(const BucketKey& key, milliseconds ahead);
  bool empty() const { return named_.empty(); }

 private:
  Log* log_;
  std::vector<std::pair<BucketKey, milliseconds>> named_;
  std::size_t more_ = 0;
};

}  // namespace weir
