#include "weir/embedded/rows/bucket_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "weir/embedded/rows/bucket_reader.h"

namespace weir {
namespace {

BucketRecord Blank(BucketKey key, UnixMillis time) {
  return {.key = std::move(key), .names = {}, .bucket = {.time = time, .meters = {}}};
}

// Returns the limits that are configured for a bucket: those of the first level that has any.
std::vector<Limit> ConfiguredFor(const BucketKey& key, const ConfigTable& config) {
  for (const Level& level :
       {Level::Entity(key.entity, key.resource), Level::EntityDefault(key.entity),
        Level::Resource(key.resource), Level::System()}) {
    const auto found = config.GetLimits(level);
    if (found && !found->limits.empty()) return found->limits;
  }
  return {};
}

void EmptyMeter(Meter& meter) {
  meter.tokens = std::min<std::int64_t>(meter.tokens, 0);
  meter.remainder = 0;
}

// Adds a limit without tokens to a bucket that does not have it. Negative `tokens`, a debt, stay.
void AddEmpty(const Limit& limit, std::int64_t tokens, BucketRecord& record) {
  if (std::ranges::find(record.names, limit.name) != record.names.end()) return;
  record.names.push_back(limit.name);
  record.bucket.meters.push_back(FullMeter(limit.quota));
  record.bucket.meters.back().tokens = std::min<std::int64_t>(tokens, 0);
}

// Adds the configured limits that the bucket lacks, without tokens. Limits that it gets later have
// no tokens either.
void AddConfigured(const ConfigTable& config, BucketRecord& record) {
  for (const Limit& limit : ConfiguredFor(record.key, config)) AddEmpty(limit, 0, record);
  record.extras.last_left = record.bucket.time;
  record.extras.left_full = record.bucket.time + milliseconds(kMaxPeriodMillis);
}

// Loads buckets in three steps: the changes of the log, the rows of the table, and at last the
// doubtful buckets, whose latest state is unknown. A doubtful bucket gets the limits that any
// source knows, and no tokens.
class Loader {
 public:
  Loader(const ChangeIndex& index, const BucketsToLoad& context)
      : index_(index), context_(context) {}

  void LoadChanges() {
    for (const auto& [key, latest] : index_.map()) {
      if (!latest.is_readable) {
        AddLimits(key, latest.limits);
      } else if (index_.MayBeOverridden(key)) {
        MarkDoubtful(key, "a later change may be its own and is unreadable");
        AddLimits(key, latest.limits);
      } else if (latest.time) {
        LoadOne(key, *latest.time, {latest.limits, latest.extras, latest.use});
      }
    }
  }

  void LoadRow(const sqlite::Statement& row) {
    const std::int64_t shard = row.Integer(2);
    const BucketKeyView view{row.Text(0), row.Text(1), static_cast<std::uint32_t>(shard)};
    // The log overrides this row. The limits of the row are still used if the bucket is doubtful.
    if (std::in_range<std::uint32_t>(shard) && index_.Contains(view))
      return AddLimitsIfDoubtful(view, row.Text(4));
    if (!IsKey(row)) {
      context_.damage.Note(
          "bucket", fmt::format("{}/{}: its key is unreadable; the row is left out", view.entity,
                                view.resource));
      return;
    }
    const BucketKey key{std::string(view.entity), std::string(view.resource), view.shard};
    if (index_.MayBeOverridden(key)) {
      MarkDoubtful(key, "a change in the log may be its own and is unreadable");
      return AddLimits(key, row.Text(4));
    }
    LoadOne(key, row.Integer(3), {row.Text(4), row.Text(5), row.Text(6)});
  }

  void LoadDoubtful() {
    for (auto& [_, record] : doubtful_) {
      AddConfigured(context_.config, record);
      // Loaded as a change, so that the next process does not find the damaged row again.
      context_.buckets.Load(std::move(record), BucketTable::Loaded::kAsChange);
    }
  }

 private:
  static bool IsKey(const sqlite::Statement& row) {
    return CheckBucketText("entity", row.Text(0)) && CheckBucketText("resource", row.Text(1)) &&
           std::in_range<std::uint32_t>(row.Integer(2));
  }

  // Returns the entry of a doubtful bucket, and creates it if there is none.
  BucketRecord& DoubtfulRecord(const BucketKey& key) {
    return doubtful_.try_emplace(key, Blank(key, context_.now)).first->second;
  }

  void MarkDoubtful(const BucketKey& key, std::string_view why) {
    context_.damage.Note("bucket",
                         fmt::format("{}/{}: {}; it is empty", key.entity, key.resource, why));
    DoubtfulRecord(key);
  }

  // The stored texts of a bucket; `extras` and `use` are empty if there are none.
  struct StoredTexts {
    std::string_view limits;
    std::string_view extras;
    std::string_view use;
  };

  void LoadOne(const BucketKey& key, std::int64_t time, const StoredTexts& texts) {
    BucketRecord record = Blank(key, {time});
    const Status read = ReadMeters(texts, record);
    const bool is_time = time >= kEarliestBucketTime.value && time <= kLatestBucketTime.value;
    if (read && is_time) {
      BucketUse use = ReadUse(key, texts.use, record.names.size());
      // A bucket without any limit is treated as one that was never charged.
      const bool is_empty = record.names.empty() && record.extras == ExtraMeters() && IsEmpty(use);
      if (!is_empty) {
        context_.buckets.Load(std::move(record), BucketTable::Loaded::kAsKept, std::move(use));
      }
      return;
    }
    MarkDoubtful(key, read ? "an impossible time" : read.error().message);
    AddLimits(key, texts.limits);
  }

  // Returns the use of a bucket. Unreadable use is noted, and left out.
  BucketUse ReadUse(const BucketKey& key, std::string_view text, std::size_t limits) {
    if (text.empty()) return {};
    Result<BucketUse> use = reader_.ReadUse(text, limits);
    if (use) return *std::move(use);
    context_.damage.Note("bucket",
                         fmt::format("{}/{}: its use of the last hour is unreadable; it is "
                                     "left out of usage",
                                     key.entity, key.resource));
    return {};
  }

  Status ReadMeters(const StoredTexts& texts, BucketRecord& record) {
    WEIR_RETURN_IF_ERROR(reader_.ReadLimits(texts.limits, record));
    return texts.extras.empty() ? Status() : reader_.ReadExtras(texts.extras, record);
  }

  void AddLimitsIfDoubtful(const BucketKeyView& view, std::string_view limits) {
    if (doubtful_.empty()) return;
    const BucketKey key{std::string(view.entity), std::string(view.resource), view.shard};
    if (doubtful_.contains(key)) AddLimits(key, limits);
  }

  // Adds the readable limits in `limits` to the doubtful bucket, which is created if there is none.
  void AddLimits(const BucketKey& key, std::string_view limits) {
    BucketRecord known = Blank(key, context_.now);
    (void)reader_.ReadLimits(limits, known);
    BucketRecord& record = DoubtfulRecord(key);
    for (std::size_t i = 0; i < known.names.size(); ++i) {
      const Meter& meter = known.bucket.meters[i];
      AddEmpty({known.names[i], meter.quota}, meter.tokens, record);
    }
  }

  const ChangeIndex& index_;
  const BucketsToLoad& context_;
  BucketReader reader_;
  std::map<BucketKey, BucketRecord> doubtful_;
};

}  // namespace

BucketRecord EmptyBucket(BucketKey key, const ConfigTable& config, UnixMillis now) {
  BucketRecord record = Blank(std::move(key), now);
  AddConfigured(config, record);
  return record;
}

BucketRecord EmptiedAt(BucketRecord record, UnixMillis now) {
  record.bucket.time = std::max(record.bucket.time, now);
  for (Meter& meter : record.bucket.meters) EmptyMeter(meter);
  for (ExtraMeter& extra : record.extras.meters) {
    extra.time = std::max(extra.time, now);
    EmptyMeter(extra.meter);
  }
  record.extras.last_left = std::max(record.extras.last_left, now);
  record.extras.left_full = record.extras.last_left + milliseconds(kMaxPeriodMillis);
  return record;
}

Status LoadBuckets(sqlite::Connection& connection, const ChangeIndex& index,
                   const BucketsToLoad& context) {
  Loader loader(index, context);
  loader.LoadChanges();
  WEIR_ASSIGN_OR_RETURN(
      auto rows,
      connection.Prepare("SELECT entity, resource, shard, time, limits, extras, use FROM bucket"));
  Result<bool> row = true;
  while ((row = rows.Step()) && *row) loader.LoadRow(rows);
  if (!row) return Fail(std::move(row.error()));
  loader.LoadDoubtful();
  return {};
}

}  // namespace weir
