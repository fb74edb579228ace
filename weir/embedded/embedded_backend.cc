#include "weir/embedded/embedded_backend.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/embedded/commit/committer.h"
#include "weir/embedded/embedded_config.h"
#include "weir/embedded/embedded_metrics.h"
#include "weir/embedded/file/data_file.h"
#include "weir/embedded/file/file_lock.h"
#include "weir/embedded/file/state_file.h"
#include "weir/embedded/file_namespaces.h"
#include "weir/embedded/rows/embedded_records.h"
#include "weir/store/bucket/bucket_table.h"
#include "weir/store/config/config_table.h"

namespace weir {
namespace {

class EmbeddedBuckets final : public BucketStore {
 public:
  EmbeddedBuckets(BucketTable& table, Committer& committer, const EmbeddedOptions& options,
                  std::uint64_t seed)
      : table_(table),
        committer_(committer),
        strict_(options.durability == Durability::kStrict),
        seed_(seed) {}

  UnixMillis Now() const override { return table_.Now(); }

  void Acquire(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
               Done<Decision> done) override {
    Take(charges, now, {deadline, std::move(done), /*keep=*/false});
  }
  void AcquireAndKeep(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
                      Done<Decision> done) override {
    Take(charges, now, {deadline, std::move(done), /*keep=*/true});
  }

  void Adjust(std::span<const Charge> charges, const AdjustTerms& terms, UnixMillis now,
              Deadline deadline, Done<void> done) override {
    if (Status ready = CheckReady(); !ready) return done(std::move(ready));
    Status adjusted = table_.Adjust(charges, terms, now);
    if (!adjusted) {
      NoteChangeByRefusal();
      return done(std::move(adjusted));
    }
    if (strict_) return committer_.WhenCommitted({deadline, std::move(done), {}});
    CompleteRelaxed(std::move(adjusted), std::move(done));
  }

  void Read(std::span<const BucketKey> keys, Deadline,
            Done<std::vector<std::optional<BucketRecord>>> done) override {
    done(committer_.CheckOpen().map([&] {
      std::vector<std::optional<BucketRecord>> records;
      for (const BucketKey& key : keys) records.push_back(table_.Read(key));
      return records;
    }));
  }

  void List(const BucketFilter& filter, const PageRequest& page, Deadline,
            Done<Page<BucketRecord>> done) override {
    done(committer_.CheckOpen().and_then([&] { return table_.List(filter, page); }));
  }

 private:
  struct PendingAcquire {
    Deadline deadline;
    Done<Decision> done;
    bool keep;  // if the deadline passes, the tokens stay taken
  };

  Status CheckReady() const {
    if (Status ready = committer_.CheckReady(); !ready) return ready;
    return strict_ ? committer_.CheckQueue() : Status();
  }

  void Take(std::span<const Charge> charges, UnixMillis now, PendingAcquire call) {
    if (Status ready = CheckReady(); !ready) return call.done(Fail(ready.error()));
    Result<Decision> decision = table_.Acquire(charges, now);
    if (decision && decision->admitted) {
      if (!strict_) return CompleteRelaxed(std::move(decision), std::move(call.done));
      return CompleteAfterCommit(charges, now, *std::move(decision), std::move(call));
    }
    NoteChangeByRefusal();
    call.done(std::move(decision));
  }

  // A refusal may change its bucket: it may store the limits on which the wait is based, and may
  // set a bucket's time back to the present. The refusal does not wait for the commit of that
  // change.
  void NoteChangeByRefusal() {
    if (table_.TakeDrainDue()) committer_.NoteChange();
  }

  void CompleteAfterCommit(std::span<const Charge> charges, UnixMillis now, Decision decision,
                           PendingAcquire call) {
    auto on_commit = [decision = std::move(decision),
                      done = std::move(call.done)](Status committed) mutable {
      if (!committed) return done(Fail(std::move(committed.error())));
      done(std::move(decision));
    };
    CommitQueue::Waiter waiter{call.deadline, std::move(on_commit), {}};
    if (!call.keep && !call.deadline.is_never()) {
      waiter.after_late_commit = TaskToGiveBack(charges, now);
    }
    committer_.WhenCommitted(std::move(waiter));
  }

  // Returns a task that gives back the tokens of an acquire that completed with kDeadlineExceeded.
  std::move_only_function<void()> TaskToGiveBack(std::span<const Charge> charges, UnixMillis now) {
    std::vector<Charge> returned(charges.begin(), charges.end());
    for (Charge& charge : returned) {
      for (std::int64_t& amount : charge.amounts) amount = -amount;
    }
    return [this, returned = std::move(returned), now, number = ++returns_] {
      // An adjust that gives back amounts cannot exceed any bound, so it cannot fail.
      (void)table_.Adjust(returned, AdjustId{.high = seed_, .low = number}, now);
    };
  }

  // Completes a relaxed call, whose change has been made in the table.
  template <class T>
  void CompleteRelaxed(Result<T> result, Done<T> done) {
    committer_.NoteChange();
    // If the backend was closed meanwhile, the last commit may have missed this change.
    if (Status open = committer_.CheckOpen(); !open) return done(Fail(open.error()));
    done(std::move(result));
  }

  BucketTable& table_;
  Committer& committer_;
  const bool strict_;
  const std::uint64_t seed_;  // the seed of the ids of adjusts that give back tokens
  std::atomic<std::uint64_t> returns_ = 0;
};

// The parts of an open file, in the order of opening.
struct Opened {
  std::optional<FileLock> lock;
  std::unique_ptr<LabelClock> labels;  // stamps the events of the file
  std::unique_ptr<StateFile> file;
  std::unique_ptr<BucketTable> buckets;
  ConfigTable config;
  DamageReport damage;
};

// Logs "file.recovered" (info: file, bytes) if the file has a log of changes: a process that closes
// the file leaves none.
void ReportRecovery(StateFile& file, Log& log) {
  const auto bytes = static_cast<std::int64_t>(file.log().bytes());
  if (bytes == 0) return;
  const std::string name = file.name();
  const std::array<LogField, 2> fields = {LogField{"file", std::string_view(name)},
                                          {"bytes", bytes}};
  log.Write(LogLevel::kInfo, "file.recovered", fields);
}

// Checks that the namespace still has this file: while an opener waits for the lock, the namespace
// may be purged and registered again.
Status CheckStillThere(const std::string& path, const std::string& file,
                       const EmbeddedOptions& options) {
  WEIR_ASSIGN_OR_RETURN(const std::string current,
                        DataFile(path, options.namespace_name, options.vfs));
  if (current == file) return {};
  return Fail(Code::kUnavailable,
              fmt::format("{}: the namespace was registered again meanwhile; try again",
                          DescribeDataFile(path, options.namespace_name)));
}

// Opens the file at `path`. `store` is the path of the store, which differs from `path` if `path`
// is the file of a namespace.
Result<Opened> OpenAndLoad(const std::string& store, const std::string& path, const Clock& clock,
                           const EmbeddedOptions& options) {
  Opened opened;
  Log& log = options.log == nullptr ? NoLog() : *options.log;
  WEIR_RETURN_IF_ERROR(CheckRegularFile(path));
  WEIR_ASSIGN_OR_RETURN(opened.lock, FileLock::Take(path, clock.WallNow(), options.lock_wait));
  WEIR_RETURN_IF_ERROR(CheckStillThere(store, path, options));
  const StateFileOptions file_options{.sync_each_commit = options.durability == Durability::kStrict,
                                      .vfs = options.vfs,
                                      .log = options.log,
                                      .usage = options.usage};
  // An existing file is guarded before SQLite reads it, because opening may migrate it.
  std::error_code error;
  const bool existed = std::filesystem::exists(path, error);
  if (existed) WEIR_RETURN_IF_ERROR(opened.lock->GuardInode(path, options.lock_wait));
  WEIR_ASSIGN_OR_RETURN(opened.file, StateFile::Open(path, file_options));
  if (!existed) WEIR_RETURN_IF_ERROR(opened.lock->GuardInode(path, options.lock_wait));
  WEIR_ASSIGN_OR_RETURN(const ClockOnBoot found,
                        opened.file->ReadClock(options.boot.value_or(ReadBootIdentity()), clock));
  const BucketTime time(clock, found.clock.base);
  opened.labels = std::make_unique<LabelClock>(time, found.clock.correction, log);
  opened.file->SetLabelClock(*opened.labels);
  opened.buckets = std::make_unique<BucketTable>(BucketTableOptions{
      .track_changes = true, .time = time, .log = options.log, .count_use = true});
  WEIR_RETURN_IF_ERROR(opened.file->Load(*opened.buckets, opened.config, time.Now()));
  WEIR_RETURN_IF_ERROR(opened.file->StartClock(found));
  ReportRecovery(*opened.file, log);
  opened.damage = opened.file->damage();
  return opened;
}

class Embedded final : public EmbeddedBackend {
 public:
  Embedded(const std::string& path, Opened opened, Scheduler& file_io,
           const EmbeddedOptions& options)
      : name_(DescribeDataFile(path, options.namespace_name)),
        damage_(std::move(opened.damage)),
        lock_(std::move(opened.lock)),
        labels_(std::move(opened.labels)),
        table_(std::move(opened.buckets)),
        committer_(std::make_shared<Committer>(std::move(opened.file), *table_, file_io, options)),
        buckets_(*table_, *committer_, options, SeedOf(file_io.clock())),
        config_(std::move(opened.config), *table_,
                AuditStamp(SeedOf(file_io.clock()), options.principal), *committer_),
        jobs_(*committer_, file_io),
        namespaces_(NamespaceRegistry(path, options.vfs), file_io.clock(),
                    [this] { return committer_->CheckOpen(); }) {
    committer_->Start();
  }
  ~Embedded() override { (void)Close(); }

  BucketStore& buckets() override { return buckets_; }
  ConfigStore& config() override { return config_; }
  AuditLog& audit() override { return audit_; }
  UsageStore& usage() override { return usage_; }
  NamespaceStore& namespaces() override { return namespaces_; }
  EmbeddedStats stats() const override { return committer_->stats(); }
  HistogramSnapshot CommitTime() const override { return committer_->CommitTime(); }
  Status RegisterMetrics(Registry& registry) const override {
    return RegisterFileMetrics(registry, *this);
  }
  const DamageReport& damage() const override { return damage_; }
  std::string Describe() const override { return name_; }
  Status Close() override {
    // Requests that have not begun complete first, waiters after the last commit.
    RunCallbacks(committer_->StopRequests());
    Committer::Closed closed;
    {
      // A second call waits until the first has closed the file.
      const MutexLock lock(close_mutex_);
      if (!lock_) return {};
      closed = committer_->Close();
      lock_.reset();
    }
    RunCallbacks(std::move(closed.waiters));
    return std::move(closed.status);
  }

 private:
  // Runs callbacks. The caller must not hold a lock: a callback may call Close.
  static void RunCallbacks(Committer::Completions completions) {
    for (auto& [done, status] : completions) done(std::move(status));
  }

  const std::string name_;
  const DamageReport damage_;
  Mutex close_mutex_;
  std::optional<FileLock> lock_ WEIR_GUARDED_BY(close_mutex_);
  const std::unique_ptr<LabelClock> labels_;
  const std::unique_ptr<BucketTable> table_;
  const std::shared_ptr<Committer> committer_;
  EmbeddedBuckets buckets_;
  EmbeddedConfig config_;
  FileTasks jobs_;
  EmbeddedAudit audit_{jobs_};
  EmbeddedUsage usage_{jobs_, *table_};
  FileNamespaces namespaces_;
};

}  // namespace

Result<std::unique_ptr<EmbeddedBackend>> OpenEmbedded(const std::string& name, Scheduler& file_io,
                                                      const EmbeddedOptions& options) {
  const std::string path = WithoutLink(name);
  WEIR_ASSIGN_OR_RETURN(const std::string file,
                        DataFile(path, options.namespace_name, options.vfs));
  WEIR_ASSIGN_OR_RETURN(Opened opened, OpenAndLoad(path, file, file_io.clock(), options));
  return std::make_unique<Embedded>(path, std::move(opened), file_io, options);
}

}  // namespace weir
