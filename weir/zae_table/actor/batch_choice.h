// Chooses the pending parts that the next write on a bucket carries, and the parts that end without
// a write.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "weir/zae_table/actor/bucket_batch.h"
#include "weir/zae_table/actor/part_queue.h"
#include "weir/zae_table/bucket/take_judge.h"

namespace weir::dynamo {

/// The conditions of a choice, besides the queue and the image.
struct ChoiceTerms {
  milliseconds refusal_age;    ///< the greatest age of an image that a refusal may rely on
  std::size_t max_takes;       ///< the greatest number of takes in one write
  bool yields_record = false;  ///< the latest write recorded an adjust: other parts go first
  bool repairs_first = false;  ///< pending repairs go first, in a write without other parts
};

struct Choice {
  std::optional<BucketBatch> batch{};  ///< nothing if no part may be written now
  std::vector<PartId> parts{};         ///< the parts in the batch
  /// If the write records an adjust in the table: the id of the adjust, which is then the only part
  /// in the batch.
  std::optional<AdjustId> recorded{};
  /// Parts that end now, without a write.
  std::vector<std::pair<PartId, PartOutcome>> ends{};
  bool needs_read = false;      ///< a part cannot be decided without a newer image
  UnixMillis now{};             ///< the bucket time of the write
  bool expects_refill = false;  ///< BucketRequest::expects_refill

  /// Returns true if the parts change no balance. REQUIRES: batch has a value.
  bool takes_nothing() const { return batch->Request().is_nothing(); }
};

/// Chooses the first part that may be written, and all parts that can share its write: adjusts and
/// returns first, then takes, each in the order of the queue. Takes are judged one after the other.
/// A take that does not fit ends as refused or, if the image is too old for that, sets needs_read;
/// the other parts stay in the choice. If a write in flight carries the take, the take is only
/// skipped, because its outcome is not known. Sets Part::available of the takes that it chooses.
/// REQUIRES: seen.is_known().
Choice Choose(PartQueue& queue, const SeenBucket& seen, const ChoiceTerms& terms,
              const ProtocolTime& moment);

/// Returns the error of an adjust that is not written because of CountsTooLate.
Error CountedTooLate(const Part& adjust);

/// Returns kOutOfRange: the adjust would leave more debt than kMaxDebt.
Error TooMuchDebt(const BucketKey& key);

/// Returns true if the queue holds a part that a write could carry.
bool HasWork(const PartQueue& queue);

/// Returns the number of parts that a write could carry. `completed_at` is the time at which the
/// response to a write that is sent now is expected. Takes that no write carries yet, and whose
/// callers must get a result before that time, do not count.
std::size_t CountEligible(const PartQueue& queue, Instant completed_at);

}  // namespace weir::dynamo
