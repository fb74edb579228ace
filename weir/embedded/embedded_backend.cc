#include "weir/embedded/embedded_backend.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <variant>

#include "weir/base/mutex.h"
#include "weir/embedded/committer.h"
#include "weir/embedded/file_lock.h"
#include "weir/embedded/state_file.h"
#include "weir/store/bucket_table.h"
#include "weir/store/config_table.h"
#include "weir/store/config_transaction.h"

namespace weir {
namespace {

class EmbeddedBuckets final : public BucketStore {
 public:
  EmbeddedBuckets(BucketTable& table, Committer& committer, Durability durability)
      : table_(table), committer_(committer), strict_(durability == Durability::kStrict) {}

  void Acquire(std::span<const Charge> charges, UnixMillis now, Deadline,
               Done<Decision> done) override {
    if (Status ready = committer_.CheckReady(); !ready) return done(Fail(ready.error()));
    Result<Decision> decision = table_.Acquire(charges, now);
    if (decision && decision->admitted) return Answer(std::move(decision), std::move(done));
    // A refusal takes nothing, but may have brought a bucket to new limits.
    if (decision) committer_.NoteChange();
    done(std::move(decision));
  }

  void Adjust(std::span<const Charge> charges, AdjustToken token, UnixMillis now, Deadline,
              Done<void> done) override {
    if (Status ready = committer_.CheckReady(); !ready) return done(std::move(ready));
    Status adjusted = table_.Adjust(charges, token, now);
    if (!adjusted) return done(std::move(adjusted));
    Answer(std::move(adjusted), std::move(done));
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
  // What the table did is done; strict: `result` waits for the commit that holds it.
  template <class T>
  void Answer(Result<T> result, Done<T> done) {
    if (strict_) {
      return committer_.WhenCommitted(
          [result = std::move(result), done = std::move(done)](Status committed) mutable {
            if (!committed) return done(Fail(std::move(committed.error())));
            done(std::move(result));
          });
    }
    committer_.NoteChange();
    // Where Close came first, its last commit may have missed this change.
    if (Status open = committer_.CheckOpen(); !open) return done(Fail(open.error()));
    done(std::move(result));
  }

  BucketTable& table_;
  Committer& committer_;
  const bool strict_;
};

class EmbeddedConfig final : public ConfigStore {
 public:
  EmbeddedConfig(ConfigTable table, BucketTable& buckets, Scheduler& scheduler,
                 Committer& committer)
      : buckets_(buckets), scheduler_(scheduler), committer_(committer), table_(std::move(table)) {}

  void GetLimits(std::span<const Level> levels, Deadline,
                 Done<std::vector<std::optional<LevelLimits>>> done) override {
    done(committer_.CheckOpen().map([&] {
      const MutexLock lock(mutex_);
      std::vector<std::optional<LevelLimits>> found;
      for (const Level& level : levels) found.push_back(table_.GetLimits(level));
      return found;
    }));
  }

  void ListLimits(std::optional<Level::Kind> kind, const PageRequest& page, Deadline,
                  Done<Page<LevelRecord>> done) override {
    done(committer_.CheckOpen().and_then([&] {
      const MutexLock lock(mutex_);
      return table_.ListLimits(kind, page);
    }));
  }

  void GetEntities(std::span<const std::string> ids, Deadline,
                   Done<std::vector<std::optional<EntityRecord>>> done) override {
    done(committer_.CheckOpen().map([&] {
      const MutexLock lock(mutex_);
      std::vector<std::optional<EntityRecord>> found;
      for (const std::string& id : ids) found.push_back(table_.GetEntity(id));
      return found;
    }));
  }

  void ListEntities(const std::optional<std::string>& parent, const PageRequest& page, Deadline,
                    Done<Page<EntityRecord>> done) override {
    done(committer_.CheckOpen().and_then([&] {
      const MutexLock lock(mutex_);
      return table_.ListEntities(parent, page);
    }));
  }

  void Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done) override {
    if (Status ready = committer_.CheckReady(); !ready) return done(std::move(ready));
    committer_.Submit(
        [this, changes = std::move(changes), deadline](StateFile& file) -> Status {
          if (deadline.ExpiredAt(scheduler_.clock().Now())) {
            return Fail(Code::kDeadlineExceeded,
                        file.name() + ": the changes had to wait too long; nothing is changed");
          }
          return ApplyTo(file, changes);
        },
        std::move(done));
  }

 private:
  // Under the lock throughout: nobody sees changes that could still fail to be written, nor an
  // entity that is gone and its buckets that are not.
  Status ApplyTo(StateFile& file, std::span<const ConfigChange> changes) {
    const MutexLock lock(mutex_);
    const ConfigTable::HasBuckets has_buckets = [this](const std::string& entity) {
      return !BucketsOf(entity, 1).empty();
    };
    ConfigTransaction transaction(table_, has_buckets);
    WEIR_RETURN_IF_ERROR(transaction.Make(changes));
    Status written = file.WriteConfig(table_, changes, RemovedBuckets(changes));
    if (!written) return Fail(Code::kUnavailable, std::move(written.error().message));
    transaction.Commit();
    for (const ConfigChange& change : changes) {
      if (const auto* gone = std::get_if<DeleteEntity>(&change)) buckets_.EraseEntity(gone->id);
    }
    return {};
  }

  std::vector<BucketKey> RemovedBuckets(std::span<const ConfigChange> changes) const {
    std::vector<BucketKey> removed;
    for (const ConfigChange& change : changes) {
      const auto* gone = std::get_if<DeleteEntity>(&change);
      if (gone == nullptr) continue;
      for (BucketRecord& record : BucketsOf(gone->id, SIZE_MAX)) {
        removed.push_back(std::move(record.key));
      }
    }
    return removed;
  }

  std::vector<BucketRecord> BucketsOf(const std::string& entity, std::size_t most) const {
    auto page = buckets_.List({.entity = entity, .resource = {}}, {.cursor = {}, .limit = most});
    return page ? std::move(page->items) : std::vector<BucketRecord>();
  }

  BucketTable& buckets_;
  Scheduler& scheduler_;
  Committer& committer_;
  Mutex mutex_;
  ConfigTable table_ WEIR_GUARDED_BY(mutex_);
};

// What a file needs to be open, in the order of opening.
struct Opened {
  std::optional<FileLock> lock;
  std::unique_ptr<StateFile> file;
  std::unique_ptr<BucketTable> buckets;
  ConfigTable config;
};

Result<Opened> OpenAndLoad(const std::string& path, UnixMillis now,
                           const EmbeddedOptions& options) {
  Opened opened;
  WEIR_ASSIGN_OR_RETURN(opened.lock, FileLock::Take(path, now));
  const StateFileOptions file_options{.sync_each_commit = options.durability == Durability::kStrict,
                                      .vfs = options.vfs};
  WEIR_ASSIGN_OR_RETURN(opened.file, StateFile::Open(path, file_options));
  opened.buckets = std::make_unique<BucketTable>(BucketTableOptions{.track_changes = true});
  WEIR_RETURN_IF_ERROR(opened.file->Load(*opened.buckets, opened.config));
  return opened;
}

class Embedded final : public EmbeddedBackend {
 public:
  Embedded(std::string path, Opened opened, Scheduler& scheduler, const EmbeddedOptions& options)
      : path_(std::move(path)),
        lock_(std::move(opened.lock)),
        table_(std::move(opened.buckets)),
        committer_(
            std::make_shared<Committer>(std::move(opened.file), *table_, scheduler, options)),
        buckets_(*table_, *committer_, options.durability),
        config_(std::move(opened.config), *table_, scheduler, *committer_) {
    committer_->Start();
  }
  ~Embedded() override { (void)Close(); }

  BucketStore& buckets() override { return buckets_; }
  ConfigStore& config() override { return config_; }
  EmbeddedStats stats() const override { return committer_->stats(); }
  std::string Describe() const override { return "sqlite:" + path_; }
  Status Close() override {
    Status closed = committer_->Close();
    lock_.reset();
    return closed;
  }

 private:
  const std::string path_;
  std::optional<FileLock> lock_;
  const std::unique_ptr<BucketTable> table_;
  const std::shared_ptr<Committer> committer_;
  EmbeddedBuckets buckets_;
  EmbeddedConfig config_;
};

}  // namespace

Result<std::unique_ptr<EmbeddedBackend>> OpenEmbedded(const std::string& path, Scheduler& scheduler,
                                                      const EmbeddedOptions& options) {
  WEIR_ASSIGN_OR_RETURN(Opened opened, OpenAndLoad(path, scheduler.clock().WallNow(), options));
  return std::make_unique<Embedded>(path, std::move(opened), scheduler, options);
}

}  // namespace weir
