#include "bench/kinesis/delivery.h"

#include <absl/strings/escaping.h>

#include <functional>
#include <string>

#include "weir/kinesis/wire/deaggregate.h"

namespace weir::bench {
namespace {

std::string BytesOf(Format format, std::string_view data) {
  if (format == Format::kCbor) return std::string(data);
  std::string bytes;
  absl::Base64Unescape({data.data(), data.size()}, &bytes);
  return bytes;
}

std::size_t Fingerprint(const kinesis::UserRecordView& record) {
  return std::hash<std::string>()(std::string(record.partition_key) + '\0' +
                                  std::string(record.data));
}

}  // namespace

void Delivery::Take(Format format, std::size_t bytes, const std::vector<Entry>& entries,
                    const std::vector<int>& shards) {
  ++requests_;
  entries_ += entries.size();
  bytes_ += bytes;
  if (!verify_) return;
  for (std::size_t i = 0; i < entries.size(); ++i) Verify(format, entries[i], shards[i]);
}

void Delivery::Verify(Format format, const Entry& entry, int shard) {
  const std::string data = BytesOf(format, entry.data);
  const auto records = kinesis::Deaggregate(entry.partition_key, data, RangeOf(shard));
  const std::lock_guard lock(mutex_);
  if (!records || records->empty()) {
    ++lost_;
    return;
  }
  delivered_ += records->size();
  for (const kinesis::UserRecordView& record : *records) distinct_.insert(Fingerprint(record));
}

Delivery::Counts Delivery::counts() const {
  const std::lock_guard lock(mutex_);
  return {requests_, entries_, bytes_, delivered_, distinct_.size(), lost_};
}

}  // namespace weir::bench
