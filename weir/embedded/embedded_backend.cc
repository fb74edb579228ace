#include "weir/embedded/embedded_backend.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "weir/embedded/committer.h"
#include "weir/embedded/embedded_config.h"
#include "weir/embedded/embedded_records.h"
#include "weir/embedded/file_lock.h"
#include "weir/embedded/file_namespaces.h"
#include "weir/embedded/state_file.h"
#include "weir/store/bucket_table.h"
#include "weir/store/config_table.h"

namespace weir {
namespace {

class EmbeddedBuckets final : public BucketStore {
 public:
  EmbeddedBuckets(BucketTable& table, Committer& committer, Durability durability)
      : table_(table), committer_(committer), strict_(durability == Durability::kStrict) {}

  UnixMillis Now() const override { return table_.Now(); }

  void Acquire(std::span<const Charge> charges, UnixMillis now, Deadline,
               Done<Decision> done) override {
    if (Status ready = committer_.CheckReady(); !ready) return done(Fail(ready.error()));
    Result<Decision> decision = table_.Acquire(charges, now);
    if (decision && decision->admitted) return Answer(std::move(decision), std::move(done));
    done(std::move(decision));  // a refusal changes nothing
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

// What a file needs to be open, in the order of opening.
struct Opened {
  std::optional<FileLock> lock;
  std::unique_ptr<LabelClock> labels;  // of the file
  std::unique_ptr<StateFile> file;
  std::unique_ptr<BucketTable> buckets;
  ConfigTable config;
};

Result<Opened> OpenAndLoad(const std::string& path, const Clock& clock,
                           const EmbeddedOptions& options) {
  Opened opened;
  WEIR_ASSIGN_OR_RETURN(opened.lock, FileLock::Take(path, clock.WallNow()));
  const StateFileOptions file_options{.sync_each_commit = options.durability == Durability::kStrict,
                                      .vfs = options.vfs};
  WEIR_ASSIGN_OR_RETURN(opened.file, StateFile::Open(path, file_options));
  WEIR_ASSIGN_OR_RETURN(const ClockOnBoot found,
                        opened.file->ReadClock(options.boot.value_or(ReadBootIdentity()), clock));
  const BucketTime time(clock, found.stored.base);
  opened.labels = std::make_unique<LabelClock>(time, found.stored.correction);
  opened.file->StampBy(*opened.labels);
  opened.buckets = std::make_unique<BucketTable>(
      BucketTableOptions{.track_changes = true, .time = time, .log = options.log});
  WEIR_RETURN_IF_ERROR(opened.file->Load(*opened.buckets, opened.config));
  WEIR_RETURN_IF_ERROR(opened.file->StartClock(found));
  return opened;
}

std::string DescribeFile(const std::string& path, const std::string& namespace_name) {
  const std::string url = "sqlite:" + path;
  return namespace_name.empty() ? url : url + "?namespace=" + namespace_name;
}

class Embedded final : public EmbeddedBackend {
 public:
  Embedded(const std::string& path, Opened opened, Scheduler& scheduler,
           const EmbeddedOptions& options)
      : name_(DescribeFile(path, options.namespace_name)),
        lock_(std::move(opened.lock)),
        labels_(std::move(opened.labels)),
        table_(std::move(opened.buckets)),
        committer_(
            std::make_shared<Committer>(std::move(opened.file), *table_, scheduler, options)),
        buckets_(*table_, *committer_, options.durability),
        config_(std::move(opened.config), *table_, scheduler, *committer_),
        jobs_(*committer_, scheduler),
        namespaces_(NamespaceRegistry(path, options.vfs), scheduler.clock(),
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
  std::string Describe() const override { return name_; }
  Status Close() override {
    Status closed = committer_->Close();
    lock_.reset();
    return closed;
  }

 private:
  const std::string name_;
  std::optional<FileLock> lock_;
  const std::unique_ptr<LabelClock> labels_;
  const std::unique_ptr<BucketTable> table_;
  const std::shared_ptr<Committer> committer_;
  EmbeddedBuckets buckets_;
  EmbeddedConfig config_;
  FileJobs jobs_;
  EmbeddedAudit audit_{jobs_};
  EmbeddedUsage usage_{jobs_};
  FileNamespaces namespaces_;
};

Result<std::string> DataFile(const std::string& path, const EmbeddedOptions& options) {
  if (options.namespace_name.empty()) return path;
  const NamespaceRegistry registry(path, options.vfs);
  WEIR_ASSIGN_OR_RETURN(const NamespaceTable table, registry.Load());
  WEIR_ASSIGN_OR_RETURN(const std::string id, table.Resolve(options.namespace_name));
  return registry.FileOf(id);
}

}  // namespace

Result<std::unique_ptr<EmbeddedBackend>> OpenEmbedded(const std::string& path, Scheduler& scheduler,
                                                      const EmbeddedOptions& options) {
  WEIR_ASSIGN_OR_RETURN(const std::string file, DataFile(path, options));
  WEIR_ASSIGN_OR_RETURN(Opened opened, OpenAndLoad(file, scheduler.clock(), options));
  return std::make_unique<Embedded>(path, std::move(opened), scheduler, options);
}

}  // namespace weir
