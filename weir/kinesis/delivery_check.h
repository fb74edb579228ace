// What it means for a whole Kinesis record that the service stored it.
#pragma once

#include "weir/kinesis/record.h"
#include "weir/kinesis/shard_map.h"

namespace weir::kinesis {

struct DeliveryCheck {
  enum class Verdict {
    kStored,   ///< consumers deliver all of it
    kMixed,    ///< consumers drop all of it: to be sent again, all of it
    kUnknown,  ///< nobody knows the shard's range yet: list, then judge again
  };
  Verdict verdict = Verdict::kStored;
  bool doubt = false;  ///< the map is not what it was taken for: ShardMap::Doubt
};

/// Of a record that `actual` answered for. A consumer drops an aggregate as a whole if one hash in
/// it is outside of the range of the shard that it was read from (deaggregate.h), so the verdict is
/// one for all of its user records: stored where every hash is inside, mixed where one is not. What
/// has one hash only is stored wherever it landed: the shard that took it held that hash.
DeliveryCheck CheckDelivery(const KinesisRecord& record, ShardId actual, const ShardMap& map);

}  // namespace weir::kinesis
