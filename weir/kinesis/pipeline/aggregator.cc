#include "weir/kinesis/pipeline/aggregator.h"

#include <algorithm>

#include "weir/kinesis/wire/deaggregate.h"

namespace weir::kinesis {
namespace {

// Frees the allocation of the string. Assigning an empty string would keep the allocation.
void Free(std::string& text) { std::string().swap(text); }

}  // namespace

void Unframe(KinesisRecord& record) {
  if (record.records.size() == 1) {
    UserRecord& only = record.records.front();
    only.data = std::move(record.data);
    only.partition_key = std::move(record.partition_key);
    return;
  }
  const auto views = ParseAggregate(record.data);
  for (std::size_t i = 0; i < record.records.size(); ++i) {
    UserRecord& user = record.records[i];
    const UserRecordView& view = (*views)[i];
    user.data = view.data;
    user.partition_key = view.partition_key;
    if (view.explicit_hash_key) user.explicit_hash_key = *view.explicit_hash_key;
  }
}

void Aggregator::Put(UserRecord record, std::optional<ShardId> shard,
                     std::vector<KinesisRecord>& out) {
  const Group group = GroupOf(record, shard);
  if (const auto batch = batches_.find(group); batch != batches_.end()) {
    const Batch& open = batch->second;
    const std::size_t bytes =
        open.writer.SizeWith(record.View()) + KeySizeOf(open, open.records.size() + 1);
    if (bytes > options_.max_bytes) Take(batch, out);
  }
  Add(group, std::move(record));
  const auto batch = batches_.find(group);
  if (IsFull(batch->second)) Take(batch, out);
}

Aggregator::Group Aggregator::GroupOf(const UserRecord& record,
                                      std::optional<ShardId> shard) const {
  if (options_.mode == AggregatorOptions::Mode::kByShard && shard) return {.shard = shard};
  Group group{.shard = shard, .hash = record.hash};
  // Two partition keys may have equal explicit hash keys.
  if (options_.mode == AggregatorOptions::Mode::kByPartitionKey) {
    group.partition_key = record.partition_key;
  }
  return group;
}

bool Aggregator::IsOfShard(const Group& group) const {
  return options_.mode == AggregatorOptions::Mode::kByShard && group.shard;
}

void Aggregator::Add(const Group& group, UserRecord record) {
  const auto [at, is_new] = batches_.try_emplace(group);
  Batch& batch = at->second;
  if (is_new) {
    if (IsOfShard(group)) batch.records.reserve(std::min(usual_, options_.max_count));
    batch.deadline = record.deadline;
    batch.expires = record.expires;
    due_.emplace(batch.deadline, group);
  } else if (record.deadline < batch.deadline) {
    due_.erase({batch.deadline, group});
    batch.deadline = record.deadline;
    due_.emplace(batch.deadline, group);
  }
  batch.expires = std::min(batch.expires, record.expires);
  batch.writer.Add(record.View());
  // The writer has copied the data. The keys of the first record are kept: they are needed if the
  // record stays alone.
  Free(record.data);
  if (!is_new) {
    Free(record.partition_key);
    record.explicit_hash_key.reset();
  }
  batch.records.push_back(std::move(record));
}

std::size_t Aggregator::KeySizeOf(const Batch& batch, std::size_t count) const {
  const bool is_own = count == 1 || options_.mode == AggregatorOptions::Mode::kByPartitionKey;
  return is_own ? batch.records.front().partition_key.size() : kAggregateKey.size();
}

bool Aggregator::IsFull(const Batch& batch) const {
  const std::size_t count = batch.records.size();
  return options_.mode == AggregatorOptions::Mode::kSeparately || count >= options_.max_count ||
         batch.writer.size() + KeySizeOf(batch, count) >= options_.max_bytes;
}

void Aggregator::Take(Batches::iterator batch, std::vector<KinesisRecord>& out) {
  Batch& closed = batch->second;
  due_.erase({closed.deadline, batch->first});
  KinesisRecord record{.partition_key = std::string(kAggregateKey),
                       .data = closed.writer.Take(),
                       .shard = batch->first.shard,
                       .deadline = closed.deadline,
                       .expires = closed.expires};
  UserRecord& first = closed.records.front();
  if (closed.records.size() == 1 || options_.mode == AggregatorOptions::Mode::kByPartitionKey) {
    record.partition_key = std::move(first.partition_key);
    record.explicit_hash_key = first.explicit_hash_key;
  } else {
    record.explicit_hash_key = FormatHashKey(first.hash);
  }
  if (IsOfShard(batch->first)) usual_ = (usual_ * 7 + closed.records.size() + 7) / 8;
  record.records = std::move(closed.records);
  batches_.erase(batch);
  out.push_back(std::move(record));
}

void Aggregator::TakeDue(Instant now, std::vector<KinesisRecord>& out) {
  while (!due_.empty() && due_.begin()->first <= now) {
    Take(batches_.find(due_.begin()->second), out);
  }
}

void Aggregator::TakeShardless(std::vector<KinesisRecord>& out) {
  while (!batches_.empty() && !batches_.begin()->first.shard) Take(batches_.begin(), out);
}

void Aggregator::TakeAll(std::vector<KinesisRecord>& out) {
  while (!due_.empty()) Take(batches_.find(due_.begin()->second), out);
}

std::optional<Instant> Aggregator::NextWake() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

}  // namespace weir::kinesis
