#include "weir/aggregator/usage/bucket_change.h"

#include <fmt/format.h>

#include <string>

#include "weir/model/quoted.h"
#include "weir/zae_table/bucket/bucket_image.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {
namespace {

constexpr std::string_view kMeterPrefix = "b_";
constexpr std::string_view kCounterSuffix = "_tc";
constexpr std::string_view kSlotPrefix = "w_";
constexpr std::size_t kSlotNameSize = 3;                  // w_0 to w_f
constexpr std::int64_t kYear10000 = 253'402'300'800'000;  // the beginning of the year 10000

tl::unexpected<Error> BadRecord(const ChangeRecord& record, std::string_view what) {
  return Fail(Code::kDataLoss,
              fmt::format("change {} of {} cannot be counted: {}", Quoted(record.sequence_number),
                          Quoted(KeyOf(record.keys).pk), what));
}

// Returns <limit> of an attribute b_<limit>_tc; nothing for other attributes.
std::string_view LimitOfCounter(std::string_view attribute) {
  if (!attribute.ends_with(kCounterSuffix)) return {};
  attribute.remove_suffix(kCounterSuffix.size());
  return attribute.substr(std::min(kMeterPrefix.size(), attribute.size()));
}

// The attributes of one limit in the two images of a record.
class MeterImages {
 public:
  MeterImages(const ChangeRecord& record, std::string_view limit)
      : record_(record), stem_(fmt::format("{}{}", kMeterPrefix, limit)) {}

  bool HasBoth(const Item& image) const {
    return image.contains(stem_ + "_tk") && image.contains(stem_ + "_cp");
  }
  /// Returns true if the write gave the limit its balance, and so replaced the counter.
  bool IsSeeded() const {
    if (!HasBoth(record_.new_image) || HasBoth(record_.old_image)) return false;
    const std::string tokens = stem_ + "_tk";
    return GetNumber(record_.new_image, tokens) != GetNumber(record_.old_image, tokens);
  }

 private:
  const ChangeRecord& record_;
  const std::string stem_;
};

// Returns the delta of one counter. `counter` is an attribute of the new image.
Result<std::int64_t> DeltaOf(const ChangeRecord& record, const std::string& counter,
                             std::string_view limit) {
  const auto found = record.old_image.find(counter);
  const bool is_new = found == record.old_image.end();
  const auto after = GetNumber(record.new_image, counter);
  const auto before = is_new ? std::int64_t{0} : GetNumber(record.old_image, counter);
  if (!after || !before) {
    return BadRecord(record, fmt::format("{} is not a 64-bit integer", counter));
  }
  if (!is_new && *after == *before) return 0;
  const MeterImages meter(record, limit);
  if (record.kind == ChangeKind::kInsert && !meter.HasBoth(record.new_image)) return 0;
  std::int64_t delta = 0;
  const std::int64_t base = meter.IsSeeded() ? 0 : *before;
  if (!__builtin_sub_overflow(*after, base, &delta) && delta <= kMaxMillitokens &&
      delta >= -kMaxMillitokens) {
    return delta;
  }
  return BadRecord(record,
                   fmt::format("{} changed too much: from {} to {}", counter, *before, *after));
}

Status ReadDeltas(const ChangeRecord& record, BucketChange& change) {
  const Item& image = record.new_image;
  for (auto at = image.lower_bound(kMeterPrefix);
       at != image.end() && at->first.starts_with(kMeterPrefix); ++at) {
    const std::string_view limit = LimitOfCounter(at->first);
    if (limit.empty()) continue;
    if (limit.find_first_of("#=;") != limit.npos) {
      return BadRecord(record, fmt::format("{} names no valid limit", at->first));
    }
    WEIR_ASSIGN_OR_RETURN(const std::int64_t delta, DeltaOf(record, at->first, limit));
    if (delta == 0) continue;
    if (limit == kWriteLimit) {
      change.write_units = delta;
    } else {
      change.deltas.push_back({limit, delta});
    }
  }
  return {};
}

// Each fenced write of Weir sets a slot to a value that the slot never had before.
bool SetsSlot(const ChangeRecord& record) {
  const Item& image = record.new_image;
  for (auto at = image.lower_bound(kSlotPrefix);
       at != image.end() && at->first.starts_with(kSlotPrefix); ++at) {
    if (at->first.size() != kSlotNameSize) continue;
    const auto before = record.old_image.find(at->first);
    if (before == record.old_image.end() || !(before->second == at->second)) return true;
  }
  return false;
}

// A usage item has a watermark for each shard number: it must not grow with numbers that no client
// writes. Two spellings of one number would be two bucket items with one watermark.
Status CheckShard(const ChangeRecord& record, std::string_view partition, std::uint32_t shard) {
  if (shard >= kMaxShards) {
    return BadRecord(record, fmt::format("a bucket has at most {} shards", kMaxShards));
  }
  if (partition.ends_with(fmt::format("#{}", shard))) return {};
  return BadRecord(record, "its shard number has leading zeros");
}

Status CheckImages(const ChangeRecord& record) {
  if (record.new_image.empty()) return BadRecord(record, "it has no new image");
  if (record.kind == ChangeKind::kModify && record.old_image.empty()) {
    return BadRecord(record, "it has no old image; the table's stream must have both");
  }
  if (record.created.value <= 0 || record.created.value >= kYear10000) {
    return BadRecord(record, fmt::format("its time is invalid: {} ms", record.created.value));
  }
  return {};
}

}  // namespace

Result<SequenceNumber> SequenceOf(const ChangeRecord& record) {
  if (const auto number = ReadSequence(record.sequence_number)) return *number;
  return BadRecord(record, "its sequence number is not 1 to 40 digits");
}

Result<std::optional<BucketChange>> ReadChange(const ChangeRecord& record, std::size_t index) {
  BucketChange change{.record = index};
  WEIR_ASSIGN_OR_RETURN(change.sequence, SequenceOf(record));
  const std::string* sort = GetText(record.keys, "SK");
  const std::string* partition = GetText(record.keys, "PK");
  if (sort == nullptr || partition == nullptr) return BadRecord(record, "it has no key");
  if (*sort != kBucketSort || record.kind == ChangeKind::kRemove) return std::nullopt;
  auto bucket = ParseBucketPartition(*partition);
  if (!bucket) return BadRecord(record, "its key identifies no bucket");
  WEIR_RETURN_IF_ERROR(CheckShard(record, *partition, bucket->shard));
  WEIR_RETURN_IF_ERROR(CheckImages(record));
  change.bucket = *std::move(bucket);
  change.namespace_id = std::string_view(*partition).substr(0, partition->find('/'));
  change.at = record.created;
  WEIR_RETURN_IF_ERROR(ReadDeltas(record, change));
  change.is_fenced_write = SetsSlot(record);
  return change;
}

}  // namespace weir::dynamo
