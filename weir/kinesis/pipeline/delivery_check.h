// Decides whether consumers deliver a Kinesis record that the service has stored.
#pragma once

#include "weir/kinesis/pipeline/attempts.h"
#include "weir/kinesis/shards/shard_map.h"
#include "weir/kinesis/wire/record.h"

namespace weir::kinesis {

struct DeliveryCheck {
  enum class Verdict {
    kStored,  ///< consumers deliver all of it
    kMixed,   ///< consumers drop all of it: it must be sent again as a whole
    /// The range of the shard is not known: check again after the next listing.
    kUnknown,
    kNeverKnown,  ///< a deleted stream may have stored it: no listing shows its ranges
  };
  Verdict verdict = Verdict::kStored;
  bool doubt = false;  ///< the shard map may be out of date: call ShardMap::Doubt
};

/// Checks a record that a shard has stored. A consumer drops an aggregate as a whole if one hash in
/// it is outside of the range of the shard that it was read from (deaggregate.h), so the verdict is
/// the same for all of its user records: kStored if every hash is inside, kMixed if one is not. A
/// record with only one hash is stored whichever shard it landed on, since that shard held the
/// hash.
///
/// If a request that began after the listing has a response that contradicts the map, the stream
/// may be another one, whose shards have other ranges: the verdict on an aggregate is kUnknown.
/// REQUIRES: attempt.shard is set, to the shard that stored the record.
DeliveryCheck CheckDelivery(const KinesisRecord& record, const Attempt& attempt,
                            const ShardMap& map);

}  // namespace weir::kinesis
