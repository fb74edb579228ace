#include "weir/embedded/rows/bucket_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "weir/embedded/rows/bucket_reader.h"
#include "weir/store/bucket/extra_meters.h"

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

void EmptyExtra(ExtraMeter& extra, UnixMillis now) {
  extra.time = std::max(extra.time, now);
  EmptyMeter(extra.meter);
}

// Lets limits that only later requests name begin without tokens: as if a limit that takes the
// longest time to become full had left. (A request may name a limit of any rate.)
void EmptyLaterLimits(ExtraMeters& extras, UnixMillis now) {
  extras.last_left = std::max(extras.last_left, now);
  extras.left_full = extras.last_left + kLongestWait;
}

bool HasLimit(const BucketRecord& record, std::string_view name) {
  return std::ranges::find(record.names, name) != record.names.end();
}

// Adds a limit without tokens to a bucket that does not have it. A debt stays: that of the extra
// meter of this name, which it replaces, or else negative `tokens`.
void AddEmpty(const Limit& limit, std::int64_t tokens, BucketRecord& record) {
  if (HasLimit(record, limit.name)) return;
  const ExtraMeter* const extra = FindExtra(&record.extras, limit.name);
  record.names.push_back(limit.name);
  record.bucket.meters.push_back(FullMeter(limit.quota));
  record.bucket.meters.back().tokens =
      std::min<std::int64_t>(extra == nullptr ? tokens : extra->meter.tokens, 0);
  std::erase_if(record.extras.meters,
                [&](const ExtraMeter& other) { return other.name == limit.name; });
}

// Adds an extra limit in debt to a bucket that does not have it. Others need no meter: all limits
// that the bucket lacks begin without tokens.
void AddDebt(ExtraMeter extra, UnixMillis now, BucketRecord& record) {
  if (extra.meter.tokens >= 0 || HasLimit(record, extra.name)) return;
  if (FindExtra(&record.extras, extra.name) != nullptr) return;
  EmptyExtra(extra, now);
  record.extras.meters.push_back(std::move(extra));
}

// Adds the configured limits that the bucket lacks, without tokens. Limits that it gets later have
// no tokens either.
void AddConfigured(const ConfigTable& config, BucketRecord& record) {
  for (const Limit& limit : ConfiguredFor(record.key, config)) AddEmpty(limit, 0, record);
  ReduceTo(record.extras, kMaxExtraMeters, record.bucket.time);
  EmptyLaterLimits(record.extras, record.bucket.time);
}

// Loads buckets in three steps: the changes of the log, the rows of the table, and at last the
// doubtful buckets, whose latest state is unknown. A doubtful bucket gets the limits and the debts
// that any source knows, and no tokens.
class Loader {
 public:
  Loader(const ChangeIndex& index, const BucketsToLoad& context)
      : index_(index), context_(context) {}

  void LoadChanges() {
    for (const auto& [key, latest] : index_.map()) {
      if (!latest.is_readable) {
        AddKnown(key, TextsOf(latest));
      } else if (index_.MayBeOverridden(key)) {
        MarkDoubtful(key, "a later change may be its own and is unreadable");
        AddKnown(key, TextsOf(latest));
      } else if (latest.time) {
        LoadOne(key, *latest.time, TextsOf(latest));
      }
    }
  }

  void LoadRow(const sqlite::Statement& row) {
    const std::int64_t shard = row.Integer(2);
    const BucketKeyView view{row.Text(0), row.Text(1), static_cast<std::uint32_t>(shard)};
    const StoredTexts texts{row.Text(4), row.Text(5), row.Text(6)};
    // The log overrides this row. The limits of the row are still used if the bucket is doubtful.
    if (std::in_range<std::uint32_t>(shard) && index_.Contains(view))
      return AddKnownIfDoubtful(view, texts);
    if (!IsKey(row)) {
      context_.damage.Note(
          "bucket", fmt::format("{}/{}: its key is unreadable; the row is left out", view.entity,
                                view.resource));
      return;
    }
    const BucketKey key{std::string(view.entity), std::string(view.resource), view.shard};
    if (index_.MayBeOverridden(key)) {
      MarkDoubtful(key, "a change in the log may be its own and is unreadable");
      return AddKnown(key, texts);
    }
    LoadOne(key, row.Integer(3), texts);
  }

  void LoadDoubtful() {
    for (auto& [_, record] : doubtful_) {
      AddConfigured(context_.config, record);
      // Loaded as a change, so that the next process does not find the damaged row again.
      context_.buckets.Load(std::move(record), BucketTable::Loaded::kAsChange);
    }
  }

 private:
  // The stored texts of a bucket; `extras` and `use` are empty if there are none.
  struct StoredTexts {
    std::string_view limits;
    std::string_view extras;
    std::string_view use;
  };
  static StoredTexts TextsOf(const LatestChange& change) {
    return {change.limits, change.extras, change.use};
  }

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
    AddKnown(key, texts);
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

  void AddKnownIfDoubtful(const BucketKeyView& view, const StoredTexts& texts) {
    if (doubtful_.empty()) return;
    const BucketKey key{std::string(view.entity), std::string(view.resource), view.shard};
    if (doubtful_.contains(key)) AddKnown(key, texts);
  }

  // Adds the readable limits and debts to the doubtful bucket, which is created if there is none.
  void AddKnown(const BucketKey& key, const StoredTexts& texts) {
    BucketRecord known = Blank(key, context_.now);
    (void)reader_.ReadLimits(texts.limits, known);
    if (!texts.extras.empty()) (void)reader_.ReadExtras(texts.extras, known);
    BucketRecord& record = DoubtfulRecord(key);
    for (std::size_t i = 0; i < known.names.size(); ++i) {
      const Meter& meter = known.bucket.meters[i];
      AddEmpty({known.names[i], meter.quota}, meter.tokens, record);
    }
    for (ExtraMeter& extra : known.extras.meters) {
      AddDebt(std::move(extra), context_.now, record);
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
  for (ExtraMeter& extra : record.extras.meters) EmptyExtra(extra, now);
  EmptyLaterLimits(record.extras, now);
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
