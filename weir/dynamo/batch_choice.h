// Which pending parts the next write on a bucket carries, and which are answered without one.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "weir/dynamo/bucket_batch.h"
#include "weir/dynamo/part_queue.h"
#include "weir/dynamo/take_view.h"

namespace weir::dynamo {

/// What a choice depends on besides the queue and the image.
struct ChoiceTerms {
  milliseconds refusal_age;  ///< of an image that a refusal may rely on
  std::size_t most_takes;
  bool yields_record = false;  ///< the latest write recorded a token: it is the turn of others
  bool repairs_first = false;  ///< a repair, if there is one, shares its write with repairs only
};

struct Choice {
  std::optional<BucketBatch> batch{};
  std::vector<PartId> parts{};         ///< of the batch
  std::optional<AdjustId> recorded{};  ///< of its only part: to be recorded with the write
  /// Parts that are answered now.
  std::vector<std::pair<PartId, PartOutcome>> ends{};
  bool needs_read = false;      ///< a refusal would rely on an image that is too old
  UnixMillis now{};             ///< the date of the write
  bool expects_refill = false;  ///< BucketRequest

  /// The parts change no balance.
  bool takes_nothing() const { return batch->Request().is_nothing(); }
};

/// Chooses in the order of the queue, all parts that suit the first one: adjusts and returns before
/// takes. Takes are judged one after the other; one that does not fit is refused and the rest go,
/// but a take that a write carries already is left as it is. REQUIRES: seen.is_known().
Choice Choose(PartQueue& queue, const SeenBucket& seen, const ChoiceTerms& terms,
              const Moment& moment);

/// The refusal of an adjust that would leave more debt than kMaxDebt.
Error TooMuchDebt(const BucketKey& key);

/// There is a part to be chosen.
bool HasWork(const PartQueue& queue);

}  // namespace weir::dynamo
