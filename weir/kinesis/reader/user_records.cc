#include "weir/kinesis/reader/user_records.h"

#include <fmt/format.h>

#include "weir/kinesis/wire/deaggregate.h"

namespace weir::kinesis {

void AppendUserRecords(const ReadShard& shard, const StoredRecord& stored, ReaderStats& stats,
                       std::vector<StreamRecord>& out) {
  ++stats.kinesis_records;
  const auto views = Deaggregate(stored.partition_key, stored.data, shard.range);
  if (!views) {
    ++stats.damaged;
    if (!stats.first_damage) {
      stats.first_damage = Error{views.error().code,
                                 fmt::format("{}, sequence number {}: {}", FormatShardId(shard.id),
                                             stored.sequence_number, views.error().message)};
    }
    return;
  }
  if (views->empty()) ++stats.dropped;
  for (std::uint64_t index = 0; const UserRecordView& view : *views) {
    out.push_back({shard.id, stored.sequence_number, index++, std::string(view.partition_key),
                   std::string(view.data)});
  }
  stats.records += views->size();
}

}  // namespace weir::kinesis
