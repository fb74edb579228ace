#include "weir/zae_table/sharding/shard_splitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>
#include <vector>

namespace weir::dynamo {
namespace {

constexpr nanoseconds kDoublingTime = std::chrono::seconds(5);
constexpr milliseconds kLeastRest{200};
constexpr std::uint64_t kMoreRest = 800;
constexpr std::size_t kManyAtRest = 1'000;

constexpr Instant kNever{INT64_MAX};

constexpr std::string_view kObstructed = "ConditionalCheckFailed";

// Returns the highest number of shards in the items of the bucket; 0 if there is no item. The bound
// keeps a damaged count from causing many reads.
std::uint32_t CountOf(const ShardsSeen& seen) {
  std::int64_t shards = 0;
  for (std::uint32_t shard = 0; shard < std::min<std::size_t>(seen.count, seen.items.size());
       ++shard) {
    const std::optional<Item>& item = seen.items[shard];
    if (item) shards = std::max(shards, GetNumber(*item, "shard_count").value_or(1));
  }
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(shards, 0, kMaxShards));
}

Error Obstructed(const BucketKey& key, std::uint32_t shard, std::uint32_t shards) {
  return {Code::kFailedPrecondition,
          fmt::format("{}/{} is not divided: it has {} shards, but shard {} exists, as a bucket of "
                      "its own or in use by another process; if it stays, delete its item",
                      key.entity, key.resource, shards, shard)};
}

}  // namespace

struct ShardSplitter::Job {
  Job(std::shared_ptr<ShardSplitter> whose, Deadline until)
      : work(std::move(whose)), deadline(until) {}

  const std::shared_ptr<ShardSplitter> work;
  const Deadline deadline;
  UnixMillis now;
  std::uint32_t shards = 1;  ///< the number of shards to be read
  bool doubles = false;
  Done<std::uint32_t> done;  ///< null only for a doubling
  ShardsSeen seen;
  std::map<std::uint32_t, Item> made;  ///< shards that this job has created, and need not read
  /// A transaction succeeded or lost to another process: the next read is the last one.
  bool changed = false;
  bool divided = false;                                     ///< by this job
  std::vector<std::pair<std::size_t, std::uint32_t>> puts;  ///< actions that create shards
  /// A shard that could not be created because it has an item already.
  std::optional<std::uint32_t> obstacle{};
  std::atomic<std::size_t> reads_in_flight = 0;
  Mutex mutex;
  std::optional<Error> error WEIR_GUARDED_BY(mutex);

  void NoteObstacle(const WriteFailure& failure) {
    for (const auto& [action, shard] : puts) {
      if (shard >= shards && failure.ReasonOf(action) == kObstructed) obstacle = shard;
    }
  }
  std::optional<Error> ReadError() {
    const MutexLock lock(mutex);
    return error;
  }
};

/// Guards a callback of a job, since a response may come after Stop: the splitter's references may
/// be used only if the guard is true, and only while it exists. Stop waits for such guards.
class ShardSplitter::RunGuard {
 public:
  explicit RunGuard(const JobPtr& job) : work_(*job->work) {
    const MutexLock lock(work_.mutex_);
    may_ = !work_.stopped_;
    if (may_) ++work_.visits_;
  }
  ~RunGuard() {
    if (!may_) return;
    const MutexLock lock(work_.mutex_);
    --work_.visits_;
    work_.visit_ended_.notify_all();
  }
  RunGuard(const RunGuard&) = delete;
  RunGuard& operator=(const RunGuard&) = delete;
  explicit operator bool() const { return may_; }

 private:
  ShardSplitter& work_;
  bool may_ = false;
};

ShardSplitter::ShardSplitter(const Parts& parts, std::uint64_t seed)
    : table_(parts.table),
      keys_(parts.keys),
      scheduler_(parts.scheduler),
      images_(parts.images),
      log_(parts.log),
      rng_(seed) {}

void ShardSplitter::Stop() {
  mutex_.lock();
  stopped_ = true;
  while (visits_ > 0) visit_ended_.wait(mutex_);
  mutex_.unlock();
}

std::uint64_t ShardSplitter::Draw() {
  const MutexLock lock(mutex_);
  return rng_.Next();
}

// The entry of not_before_ blocks further doublings of the bucket until End replaces it by the end
// of the rest.
bool ShardSplitter::ReserveDoubling(const BucketKey& bucket) {
  const Instant now = scheduler_.clock().Now();
  const MutexLock lock(mutex_);
  if (stopped_) return false;
  if (not_before_.size() > kManyAtRest) {
    absl::erase_if(not_before_, [now](const auto& entry) { return entry.second <= now; });
  }
  const auto [at, is_new] = not_before_.try_emplace(bucket, kNever);
  if (!is_new && at->second > now) return false;
  at->second = kNever;
  return true;
}

void ShardSplitter::End(const JobPtr& job, Result<std::uint32_t> shards) {
  if (!job->doubles) return job->done(std::move(shards));
  Report(*job, shards);
  const milliseconds rest =
      kLeastRest + milliseconds(static_cast<std::int64_t>(Draw() % kMoreRest));
  const Instant until = scheduler_.clock().Now() + rest;
  {
    const MutexLock lock(mutex_);
    not_before_[job->seen.key] = until;
  }
  if (job->done) job->done(std::move(shards));
}

void ShardSplitter::Report(const Job& job, const Result<std::uint32_t>& shards) {
  std::vector<LogField> fields = {{"entity", std::string_view(job.seen.key.entity)},
                                  {"resource", std::string_view(job.seen.key.resource)}};
  if (!shards) {
    fields.push_back({"message", std::string_view(shards.error().message)});
    return log_.Write(LogLevel::kWarning, "bucket.division_failed", fields);
  }
  if (!job.divided) return;
  fields.push_back({"shards", std::int64_t{job.shards}});
  log_.Write(LogLevel::kInfo, "bucket.divided", fields);
}

void ShardSplitter::Double(const BucketImage& seen, Done<std::uint32_t> done) {
  BucketKey bucket{seen.key.entity, seen.key.resource, 0};
  if (!DoubleOf(seen) || !ReserveDoubling(bucket)) return;
  const JobPtr job = NewJob(std::move(bucket), seen.shards, table_.Now(),
                            Deadline::After(scheduler_.clock(), kDoublingTime));
  job->doubles = true;
  job->done = std::move(done);
  Read(job);
}

// Begins with the highest number of shards in any image; the items may show more.
void ShardSplitter::Complete(const BucketKey& bucket, UnixMillis now, Deadline deadline,
                             Done<std::uint32_t> done) {
  BucketKey key = bucket;
  std::uint32_t shards = 2;
  for (key.shard = 0; key.shard < shards; ++key.shard) {
    shards = std::max(shards, images_.ShardsOf(key));
  }
  const JobPtr job = NewJob(bucket, shards, now, deadline);
  job->done = std::move(done);
  Read(job);
}

ShardSplitter::JobPtr ShardSplitter::NewJob(BucketKey bucket, std::uint32_t shards, UnixMillis now,
                                            Deadline deadline) {
  auto job = std::make_shared<Job>(shared_from_this(), deadline);
  job->now = now;
  job->shards = shards;
  job->seen.key = std::move(bucket);
  return job;
}

// Reads the items one by one, and not in a batch: a batch may send further requests after Stop,
// when the table is gone.
void ShardSplitter::Read(const JobPtr& job) {
  const bool may_replace = job->doubles && !job->changed;
  const std::uint32_t items = may_replace ? 2 * job->shards : job->shards;
  job->seen.items.assign(items, std::nullopt);
  job->seen.count = job->shards;
  for (const auto& [shard, item] : job->made) job->seen.items[shard] = item;
  // The additional read is that of the owner. The last response continues the job.
  job->reads_in_flight = items - job->made.size() + 1;
  const auto read = [this, &job](const TableKey& key, auto keep) {
    table_.Get(key, job->deadline, [job, keep](Result<std::optional<Item>> item) {
      if (item) {
        keep(*job, std::move(*item));
      } else {
        const MutexLock lock(job->mutex);
        job->error = std::move(item.error());
      }
      if (job->reads_in_flight.fetch_sub(1) == 1) job->work->OnRead(job);
    });
  };
  const std::map<std::uint32_t, Item> made = job->made;
  for (std::uint32_t shard = 0; shard < items; ++shard) {
    if (made.contains(shard)) continue;
    read(keys_.Bucket({job->seen.key.entity, job->seen.key.resource, shard}),
         [shard](Job& to, std::optional<Item> item) { to.seen.items[shard] = std::move(item); });
  }
  read(keys_.Entity(job->seen.key.entity),
       [](Job& to, const std::optional<Item>& item) { to.seen.owner = ReadOwner(item); });
}

void ShardSplitter::OnRead(const JobPtr& job) {
  const RunGuard guard(job);
  if (!guard) return;
  if (auto error = job->ReadError()) return End(job, Fail(std::move(*error)));
  Learn(job->seen);
  const std::uint32_t shards = CountOf(job->seen);
  if (job->doubles && job->obstacle && shards == job->shards) {
    return End(job, Fail(Obstructed(job->seen.key, *job->obstacle, shards)));
  }
  if (job->changed || shards == 0) return End(job, shards);
  if (shards > job->shards && !job->doubles) {
    job->shards = shards;
    return Read(job);
  }
  // Another process has divided the bucket, so nothing is to be done.
  if (job->doubles && shards != job->shards) return End(job, shards);
  Change(job, job->doubles ? 2 * shards : shards);
}

void ShardSplitter::Change(const JobPtr& job, std::uint32_t shards) {
  auto writes = PlanShards(keys_, job->seen, shards, job->now);
  if (!writes) return End(job, Fail(std::move(writes.error())));
  if (writes->empty()) return End(job, CountOf(job->seen));
  const std::string token = fmt::format("{:016x}{:016x}", Draw(), Draw());
  // The new items are kept, so that they need not be read after the transaction.
  for (const Write& write : *writes) {
    if (write.kind != Write::Kind::kPut) continue;
    const auto key = ParseBucketPartition(KeyOf(write.item).pk);
    if (!key) continue;
    job->made.emplace(key->shard, write.item);
    job->puts.emplace_back(static_cast<std::size_t>(&write - writes->data()), key->shard);
  }
  table_.Transact(*writes, token, job->deadline, [job, shards](const auto& outcome) {
    const RunGuard guard(job);
    if (!guard) return;
    // If the transaction lost to another process, the shards of that process are read.
    const bool lost = !outcome && (outcome.error().kind == FailureClass::kConditional ||
                                   outcome.error().kind == FailureClass::kConflict);
    if (!outcome && !lost) return job->work->End(job, Fail(outcome.error().error));
    job->changed = true;
    job->divided = outcome.has_value();
    if (outcome) {
      job->shards = shards;
    } else {
      job->made.clear();
      job->NoteObstacle(outcome.error());
    }
    job->work->Read(job);
  });
}

void ShardSplitter::Learn(const ShardsSeen& seen) {
  for (std::uint32_t shard = 0; shard < std::min<std::size_t>(seen.count, seen.items.size());
       ++shard) {
    auto image = seen.items[shard] ? ReadImage(*seen.items[shard]) : Fail(Code::kNotFound, "");
    if (image) {
      images_.Learn(std::move(*image));
    } else {
      images_.Forget({seen.key.entity, seen.key.resource, shard});
    }
  }
}

}  // namespace weir::dynamo
