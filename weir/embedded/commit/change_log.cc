#include "weir/embedded/commit/change_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/embedded/rows/bucket_reader.h"
#include "weir/model/quoted.h"
#include "weir/store/bucket/bucket_use_passing.h"

namespace weir {
namespace {

// The progress of a fold: when the log has grown by a fraction f of its length at the beginning of
// the fold, kWritePace * f of the buckets are written, or kDeletePace * f of the bytes are deleted.
// So writing, the longer part, ends when the log has grown by its length again, and deleting takes
// a quarter of that.
constexpr double kWritePace = 1;
constexpr double kDeletePace = 4;

// The minimum of a step, about a millisecond, so that the fold of an idle process ends too.
constexpr std::size_t kLeastBuckets = 512;
constexpr std::size_t kLeastBytes = 1u << 20;

std::string DescribeDamage(std::int64_t seq, const DamagedChange& change) {
  if (change.key) {
    return fmt::format("{}: a change of {}/{} is unreadable", seq, change.key->entity,
                       change.key->resource);
  }
  return fmt::format("{}: a change of an unknown bucket is unreadable: {}", seq,
                     Quoted(change.rest_of_row));
}

std::size_t Share(double fraction, std::size_t whole, std::size_t minimum) {
  return std::max(minimum, static_cast<std::size_t>(fraction * static_cast<double>(whole)));
}

}  // namespace

Result<ChangeLog> ChangeLog::Open(sqlite::Connection& connection, UsageLimits limits) {
  ChangeLog log(connection);
  WEIR_ASSIGN_OR_RETURN(log.insert_, connection.Prepare("INSERT INTO change VALUES(?, ?)"));
  WEIR_ASSIGN_OR_RETURN(log.delete_, connection.Prepare("DELETE FROM change WHERE seq <= ?"));
  WEIR_ASSIGN_OR_RETURN(log.put_bucket_,
                        connection.Prepare("INSERT INTO bucket VALUES(?, ?, ?, ?, ?, ?, ?) "
                                           "ON CONFLICT(entity, resource, shard) DO UPDATE "
                                           "SET time = excluded.time, limits = excluded.limits, "
                                           "extras = excluded.extras, use = excluded.use"));
  WEIR_ASSIGN_OR_RETURN(log.usage_, UsageRows::Open(connection, limits));
  WEIR_ASSIGN_OR_RETURN(log.delete_bucket_,
                        connection.Prepare("DELETE FROM bucket WHERE entity = ? AND "
                                           "resource = ? AND shard = ?"));
  return log;
}

Result<ChangeIndex> ChangeLog::Read(DamageReport& damage) {
  WEIR_ASSIGN_OR_RETURN(auto rows,
                        connection_->Prepare("SELECT seq, data FROM change ORDER BY seq"));
  ChangeIndex index;
  BucketReader reader;
  Result<bool> row = true;
  while ((row = rows.Step()) && *row) {
    const std::string_view data = rows.Text(1);
    rows_.push_back({rows.Integer(0), data.size()});
    bytes_ += data.size();
    reader.SalvageChanges(
        data, [&](const Change& change) { index.Add(change); },
        [&](const DamagedChange& change) {
          damage.Note("change", DescribeDamage(rows_.back().seq, change));
          index.Add(change);
        });
  }
  if (!row) return Fail(std::move(row.error()));
  if (!rows_.empty()) next_seq_ = rows_.back().seq + 1;
  // All buckets of the log belong to the next fold.
  for (const auto& [key, latest] : index.map()) keys_to_fold_.push_back(key);
  return index;
}

void ChangeLog::Add(const BucketKey& key, const BucketState* state, std::uint32_t& mark) {
  batch_.Add(key, state);
  // The mark is the round of the last Add of this bucket. If that is the current round, the bucket
  // is in keys_to_fold_ already.
  if (std::exchange(mark, fold_round_) != fold_round_) keys_to_fold_.push_back(key);
}

void ChangeLog::AddUse(const BucketKey& key, std::vector<HourOfUse> hours) {
  use_.push_back({key, std::move(hours)});
}

void ChangeLog::AddChanges(BucketTable& table, std::size_t max_use_buckets) {
  UseDrain use{.sink = [this](const BucketKey& key,
                              std::vector<HourOfUse> hours) { AddUse(key, std::move(hours)); },
               .most = max_use_buckets};
  table.DrainChanges([this](const BucketKey& key, const BucketState* state,
                            std::uint32_t& mark) { Add(key, state, mark); },
                     std::move(use));
}

Result<ChangeLog::Written> ChangeLog::Append(UnixMillis now) {
  if (batch_.empty() && use_.empty()) return Written{};
  Status written_use;
  Status done = Write(batch_, [&] { return written_use = WriteUse(now); });
  if (!done && !written_use && written_use.error().code == Code::kDataLoss) {
    // The table of usage is damaged: decisions must not wait for its repair.
    lost_use_ += use_.size();
    use_.clear();
    done = Write(batch_, [] { return Status(); });
  }
  WEIR_RETURN_IF_ERROR(done);
  const Written written{.buckets = batch_.count(), .bytes = batch_.bytes()};
  batch_.Clear();
  use_.clear();
  return written;
}

Status ChangeLog::AppendRemoved(std::span<const BucketKey> keys,
                                const std::function<Status()>& body) {
  ChangeBatch removed;
  for (const BucketKey& key : keys) {
    removed.AddRemoved(key);
    keys_to_fold_.push_back(key);
  }
  return Write(removed, body);
}

Status ChangeLog::Write(const ChangeBatch& batch, const std::function<Status()>& body) {
  const std::vector<std::string_view> rows = batch.Rows();
  Status written = WriteOnce(rows, body);
  // On a full disk the write-ahead log cannot grow, but it can be restarted after a checkpoint.
  const bool is_full = !written && written.error().code == Code::kResourceExhausted;
  if (is_full && connection_->Checkpoint()) written = WriteOnce(rows, body);
  if (!written) return written;
  for (const std::string_view row : rows) rows_.push_back({next_seq_++, row.size()});
  bytes_ += batch.bytes();
  return {};
}

Status ChangeLog::WriteUse(UnixMillis now) {
  for (const UseOfBucket& use : use_) {
    WEIR_RETURN_IF_ERROR(usage_->AddHours(use.key, use.hours));
  }
  return use_.empty() ? Status() : usage_->Trim(now);
}

Status ChangeLog::WriteOnce(std::span<const std::string_view> rows,
                            const std::function<Status()>& body) {
  Status written = connection_->InTransaction([&]() -> Status {
    WEIR_RETURN_IF_ERROR(body());
    std::int64_t seq = next_seq_;
    for (const std::string_view row : rows) {
      WEIR_RETURN_IF_ERROR(insert_->Bind(1, seq++).Bind(2, row).Run());
    }
    return {};
  });
  usage_->End(written.has_value());
  return written;
}

Status ChangeLog::Rewrite(const BucketTable& table) {
  Status rewritten = connection_->InTransaction([&]() -> Status {
    WEIR_RETURN_IF_ERROR(connection_->Execute("DELETE FROM change; DELETE FROM bucket"));
    std::string cursor;
    do {
      WEIR_ASSIGN_OR_RETURN(const Page<BucketRecord> page,
                            table.List({}, {.cursor = cursor, .limit = 10'000}));
      for (const BucketRecord& record : page.items) {
        Status written = WriteBucket(table, record.key);
        if (!written) return written;
      }
      cursor = page.next;
    } while (!cursor.empty());
    return {};
  });
  if (!rewritten) return rewritten;
  rows_.clear();
  keys_to_fold_.clear();
  fold_.reset();
  bytes_ = 0;
  return {};
}

Status ChangeLog::FoldSome(const BucketTable& table, std::size_t grown_bytes) {
  if (!fold_) BeginFold();
  const double grown = static_cast<double>(grown_bytes) /
                       static_cast<double>(std::max<std::size_t>(fold_->bytes, 1));
  // All slices are written before the rows are deleted. A slice that could not be written is
  // retried.
  if (!fold_->slice.empty() || !fold_->keys.empty()) {
    if (fold_->slice.empty()) TakeSlice(Share(kWritePace * grown, fold_->buckets, kLeastBuckets));
    return WriteSlice(table);
  }
  WEIR_RETURN_IF_ERROR(DeleteRows(Share(kDeletePace * grown, fold_->bytes, kLeastBytes)));
  if (rows_.empty() || rows_.front().seq > fold_->last_seq) fold_.reset();
  return {};
}

Status ChangeLog::FoldAll(const BucketTable& table) {
  // The states that the fold writes do not contain the collected hours.
  if (!use_.empty()) WEIR_RETURN_IF_ERROR(Append());
  // A fold in progress may lack the changes that were added since it began. The next fold has them.
  if (fold_) WEIR_RETURN_IF_ERROR(EndFold(table));
  if (bytes_ > 0 || !batch_.empty()) WEIR_RETURN_IF_ERROR(EndFold(table));
  batch_.Clear();
  return {};
}

Status ChangeLog::EndFold(const BucketTable& table) {
  // The whole log is passed as its growth, so that the loop ends after a few calls.
  do {
    WEIR_RETURN_IF_ERROR(FoldSome(table, bytes_));
  } while (fold_);
  return {};
}

void ChangeLog::BeginFold() {
  std::ranges::make_heap(keys_to_fold_, std::greater<>{});
  const std::size_t buckets = keys_to_fold_.size();
  fold_.emplace(Fold{.keys = std::exchange(keys_to_fold_, {}),
                     .slice = {},
                     .buckets = buckets,
                     .last_seq = next_seq_ - 1,
                     .bytes = bytes_});
  ++fold_round_;
}

// Buckets are written in the order of the index on (entity, resource, shard), so that each page is
// written once.
void ChangeLog::TakeSlice(std::size_t count) {
  std::vector<BucketKey>& keys = fold_->keys;
  std::vector<BucketKey>& slice = fold_->slice;
  for (; count > 0 && !keys.empty(); --count) {
    std::ranges::pop_heap(keys, std::greater<>{});
    // A bucket that is in keys_to_fold_ twice is written once: equal keys follow each other.
    if (slice.empty() || slice.back() != keys.back()) slice.push_back(std::move(keys.back()));
    keys.pop_back();
  }
}

Status ChangeLog::WriteSlice(const BucketTable& table) {
  WEIR_RETURN_IF_ERROR(connection_->InTransaction([&]() -> Status {
    for (const BucketKey& key : fold_->slice) {
      Status written = WriteBucket(table, key);
      if (!written) return written;
    }
    return {};
  }));
  fold_->slice.clear();
  return {};
}

Status ChangeLog::WriteBucket(const BucketTable& table, const BucketKey& key) {
  // The state may be newer than the log. Then the next commit writes this state to the log, too.
  BucketRecord record;
  std::string use;
  table.ReadState(key, [&](const BucketState* state) {
    if (state == nullptr) return;
    record = RecordOf(*state);
    if (!IsEmpty(state->use)) AppendUse(use, state->use);
  });
  const bool has_extras = record.extras != ExtraMeters();
  const bool is_stored = has_extras || !record.names.empty() || !use.empty();
  sqlite::Statement& statement = is_stored ? *put_bucket_ : *delete_bucket_;
  statement.Bind(1, key.entity).Bind(2, key.resource).Bind(3, key.shard);
  if (!is_stored) return statement.Run();
  std::string limits;
  AppendLimits(limits, record);
  statement.Bind(4, record.bucket.time.value).Bind(5, limits);
  std::string extras;
  if (has_extras) AppendExtras(extras, record.extras);
  has_extras ? statement.Bind(6, extras) : statement.BindNull(6);
  return (use.empty() ? statement.BindNull(7) : statement.Bind(7, use)).Run();
}

Status ChangeLog::DeleteRows(std::size_t bytes) {
  std::size_t deleted = 0;
  auto end = rows_.begin();
  while (end != rows_.end() && end->seq <= fold_->last_seq && deleted < bytes) {
    deleted += (end++)->bytes;
  }
  if (end == rows_.begin()) return {};
  WEIR_RETURN_IF_ERROR(
      connection_->InTransaction([&] { return delete_->Bind(1, std::prev(end)->seq).Run(); }));
  rows_.erase(rows_.begin(), end);
  bytes_ -= deleted;
  return {};
}

}  // namespace weir
