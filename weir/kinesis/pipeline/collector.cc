#include "weir/kinesis/pipeline/collector.h"

#include <algorithm>
#include <utility>

namespace weir::kinesis {

void Collector::Put(KinesisRecord record, Instant now, std::vector<Request>& out) {
  const std::size_t bytes = record.bytes();
  if (!request_.empty() && bytes_ + bytes > options_.max_bytes) TakeAll(out);
  if (request_.empty()) due_ = now + options_.linger;
  bytes_ += bytes;
  if (record.shard) {
    fullest_shard_ = std::max(fullest_shard_, shard_bytes_[*record.shard] += bytes);
  }
  request_.push_back(std::move(record));
  if (IsFull()) TakeAll(out);
}

bool Collector::IsFull() const {
  return request_.size() >= options_.max_count || bytes_ >= options_.max_bytes ||
         fullest_shard_ >= options_.max_shard_bytes;
}

void Collector::TakeDue(Instant now, std::vector<Request>& out) {
  if (!request_.empty() && due_ <= now) TakeAll(out);
}

void Collector::TakeAll(std::vector<Request>& out) {
  if (request_.empty()) return;
  out.push_back(std::exchange(request_, {}));
  bytes_ = 0;
  shard_bytes_.clear();
  fullest_shard_ = 0;
}

std::optional<Instant> Collector::NextWake() const {
  if (request_.empty()) return std::nullopt;
  return due_;
}

}  // namespace weir::kinesis
