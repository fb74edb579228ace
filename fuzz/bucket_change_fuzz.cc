// The stored form of changes and of the limits of buckets. For any bytes, a row that can be read
// has valid buckets, which read back the same after they are written, and a row that can be read as
// a whole reads the same line by line.
#include <string>
#include <vector>

#include "fuzz/require.h"
#include "weir/embedded/rows/bucket_codec.h"
#include "weir/embedded/rows/bucket_reader.h"

namespace weir {
namespace {

struct ReadChange {
  BucketKey key;
  std::optional<std::int64_t> time;
  std::string limits;

  friend bool operator==(const ReadChange&, const ReadChange&) = default;
};

ReadChange Copied(const Change& change) {
  return {.key = {std::string(change.entity), std::string(change.resource), change.shard},
          .time = change.time,
          .limits = std::string(change.limits)};
}

void CheckKey(const BucketKey& key) {
  Require(CheckBucketText("entity", key.entity).has_value(), "an entity that was read is a text");
  Require(CheckBucketText("resource", key.resource).has_value(), "a resource is a text");
}

void CheckMeters(const BucketRecord& record) {
  Require(record.names.size() == record.bucket.meters.size(), "a name for each meter");
  for (const Meter& meter : record.bucket.meters) {
    Require(Validate(meter.quota).has_value(), "quotas that were read are valid");
    Require(meter.tokens <= meter.quota.capacity && meter.tokens >= -kMaxDebt, "tokens can be");
    Require(meter.remainder >= 0 && meter.remainder < meter.remainder_period, "the remainder too");
  }
}

void CheckReadsBack(BucketReader& reader, const BucketRecord& record) {
  std::string text;
  AppendLimits(text, record);
  BucketRecord again{.key = record.key, .names = {}, .bucket = {.time = record.bucket.time}};
  Require(reader.ReadLimits(text, again).has_value(), "what is written reads");
  Require(again == record, "limits read back the same");
}

void CheckLimits(BucketReader& reader, const ReadChange& change) {
  BucketRecord record{.key = change.key, .names = {}, .bucket = {.time = {*change.time}}};
  const Status read = reader.ReadLimits(change.limits, record);
  CheckMeters(record);
  if (read) CheckReadsBack(reader, record);
}

void CheckRow(std::string_view row) {
  BucketReader reader;
  std::vector<ReadChange> whole, salvaged;
  const Status read =
      reader.ReadChanges(row, [&](const Change& change) { whole.push_back(Copied(change)); });
  if (!read) Require(read.error().code == Code::kDataLoss, "what does not read is data loss");
  std::size_t damaged = 0;
  reader.SalvageChanges(
      row, [&](const Change& change) { salvaged.push_back(Copied(change)); },
      [&](const DamagedChange& change) {
        ++damaged;
        if (change.key) CheckKey(*change.key);
      });
  if (read) Require(damaged == 0 && whole == salvaged, "a sound row reads the same either way");
  for (const ReadChange& change : salvaged) {
    CheckKey(change.key);
    if (change.time) CheckLimits(reader, change);
  }
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::CheckRow({reinterpret_cast<const char*>(data), size});
  return 0;
}
