// Stored times of a bucket that are ahead of bucket time, because they were written under a wrong
// clock.
// Mechanism: docs/design/time.md.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "weir/base/bucket_time.h"
#include "weir/store/bucket/bucket_state.h"
#include "weir/telemetry/log.h"

namespace weir {

/// Returns true if a time of the bucket is far ahead (IsFarAhead) of `now`.
bool HasTimeFarAhead(const BucketState& state, UnixMillis now);

/// Sets those times of the bucket that are far ahead of `now` to `now`. The tokens of the bucket do
/// not change, nor does the time that meters which were removed early need until they would be
/// full. Returns by how much the furthest time was ahead; 0 if none was far ahead.
milliseconds SetBackToNow(BucketState& state, UnixMillis now);

/// Collects the buckets that were set back. The destructor writes them to the log: create it before
/// the locks are taken, so that it writes after their release. The first kMaxNamed buckets get one
/// "clock.stored_time_ahead" event each; the number of the others is in one
/// "clock.stored_times_ahead" event.
class AheadReport {
 public:
  static constexpr std::size_t kMaxNamed = 10;

  /// `log` may be null; otherwise it must outlive the report.
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
