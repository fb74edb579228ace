#include "weir/embedded/reading_backend.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "weir/base/bucket_time.h"
#include "weir/base/mutex.h"
#include "weir/embedded/file/data_file.h"
#include "weir/embedded/file/file_lock.h"
#include "weir/embedded/file/file_tasks.h"
#include "weir/embedded/file/state_file.h"
#include "weir/embedded/file_namespaces.h"
#include "weir/embedded/rows/audit_rows.h"
#include "weir/embedded/rows/pending_use.h"
#include "weir/embedded/rows/usage_rows.h"
#include "weir/store/bucket/bucket_table.h"
#include "weir/store/config/config_table.h"

namespace weir {
namespace {

// The file that the stores of one reader share. Thread-safe.
class SharedFile {
 public:
  SharedFile(std::string name, std::optional<FileLock> lock, std::unique_ptr<StateFile> file)
      : name_(std::move(name)), lock_(std::move(lock)), file_(std::move(file)) {}

  tl::unexpected<Error> Refuse() const {
    return Fail(Code::kFailedPrecondition, name_ + ": opened for reading only");
  }
  Status CheckOpen() const {
    const MutexLock lock(mutex_);
    return file_ == nullptr ? Status(Closed()) : Status();
  }
  // Calls `read` with the connection and the damage report, and returns its result, a Result<T>.
  template <class T, class Read>
  Result<T> From(const Read& read) {
    const MutexLock lock(mutex_);
    if (file_ == nullptr) return Closed();
    return ReadFrom<T>(*file_, read);
  }
  void Close() {
    const MutexLock lock(mutex_);
    file_.reset();
    lock_.reset();
  }

 private:
  tl::unexpected<Error> Closed() const { return Fail(Code::kUnavailable, name_ + ": closed"); }

  const std::string name_;
  mutable Mutex mutex_;
  std::optional<FileLock> lock_ WEIR_GUARDED_BY(mutex_);  // released after the file is closed
  std::unique_ptr<StateFile> file_ WEIR_GUARDED_BY(mutex_);
};

class BucketsReader final : public BucketStore {
 public:
  BucketsReader(const SharedFile& file, BucketTime time, std::unique_ptr<BucketTable> table)
      : file_(file), time_(time), table_(std::move(table)) {}

  UnixMillis Now() const override { return time_.Now(); }
  void Acquire(std::span<const Charge>, UnixMillis, Deadline, Done<Decision> done) override {
    done(file_.Refuse());
  }
  void Adjust(std::span<const Charge>, const AdjustTerms&, UnixMillis, Deadline,
              Done<void> done) override {
    done(file_.Refuse());
  }
  void Read(std::span<const BucketKey> keys, Deadline,
            Done<std::vector<std::optional<BucketRecord>>> done) override {
    done(CheckLoaded().map([&] {
      std::vector<std::optional<BucketRecord>> records;
      for (const BucketKey& key : keys) records.push_back(table_->Read(key));
      return records;
    }));
  }
  void List(const BucketFilter& filter, const PageRequest& page, Deadline,
            Done<Page<BucketRecord>> done) override {
    done(CheckLoaded().and_then([&] { return table_->List(filter, page); }));
  }

 private:
  Status CheckLoaded() const {
    WEIR_RETURN_IF_ERROR(file_.CheckOpen());
    return table_ == nullptr ? Status(file_.Refuse()) : Status();
  }

  const SharedFile& file_;
  const BucketTime time_;
  const std::unique_ptr<BucketTable> table_;  // null: not loaded
};

class ConfigReader final : public ConfigStore {
 public:
  ConfigReader(const SharedFile& file, ConfigTable table) : file_(file), table_(std::move(table)) {}

  void GetLimits(std::span<const Level> levels, Deadline,
                 Done<std::vector<std::optional<LevelLimits>>> done) override {
    done(file_.CheckOpen().and_then([&] { return table_.ReadLimits(levels); }));
  }
  void ListLimits(const LevelFilter& filter, const PageRequest& page, Deadline,
                  Done<Page<LevelRecord>> done) override {
    done(file_.CheckOpen().and_then([&] { return table_.ListLimits(filter, page); }));
  }
  void GetEntities(std::span<const std::string> ids, Deadline,
                   Done<std::vector<std::optional<EntityRecord>>> done) override {
    done(file_.CheckOpen().and_then([&] { return table_.ReadEntities(ids); }));
  }
  void ListEntities(const std::optional<std::string>& parent, const PageRequest& page, Deadline,
                    Done<Page<EntityRecord>> done) override {
    done(file_.CheckOpen().and_then([&] { return table_.ListEntities(parent, page); }));
  }
  void Apply(std::vector<ConfigChange>, Deadline, Done<void> done) override {
    done(file_.Refuse());
  }

 private:
  const SharedFile& file_;
  const ConfigTable table_;
};

class AuditReader final : public AuditLog {
 public:
  explicit AuditReader(SharedFile& file) : file_(file) {}
  void Append(const AuditEvent&, Deadline, Done<void> done) override { done(file_.Refuse()); }
  void List(std::string_view subject, const PageRequest& page, Deadline,
            Done<Page<AuditEvent>> done) override {
    done(CheckAuditPage(subject, page).and_then([&] {
      return file_.From<Page<AuditEvent>>(
          [&](sqlite::Connection& connection, DamageReport& damage) {
            return ListEvents(connection, subject, page, damage);
          });
    }));
  }
  void GetRetention(Deadline, Done<std::int64_t> done) override {
    done(file_.From<std::int64_t>(
        [](sqlite::Connection& connection, DamageReport&) { return ReadRetention(connection); }));
  }
  void SetRetention(std::int64_t, const AuditEvent&, Deadline, Done<void> done) override {
    done(file_.Refuse());
  }

 private:
  SharedFile& file_;
};

class UsageReader final : public UsageStore {
 public:
  explicit UsageReader(SharedFile& file) : file_(file) {}
  void Add(const UsageSnapshot&, Deadline, Done<void> done) override { done(file_.Refuse()); }
  void List(const UsageFilter& filter, const PageRequest& page, Deadline,
            Done<Page<UsageSnapshot>> done) override {
    done(CheckUsagePage(filter, page).and_then([&] {
      return file_.From<Page<UsageSnapshot>>(
          [&](sqlite::Connection& connection, DamageReport& damage) {
            return ListAll(connection, filter, page, damage);
          });
    }));
  }

 private:
  // Lists the stored rows, merged with the use of buckets that is not in a row yet, as of one
  // moment.
  static Result<Page<UsageSnapshot>> ListAll(sqlite::Connection& connection,
                                             const UsageFilter& filter, const PageRequest& page,
                                             DamageReport& damage) {
    Result<Page<UsageSnapshot>> result;
    const Status read = connection.InSnapshot([&]() -> Status {
      PendingUsage pending(filter, page);
      WEIR_RETURN_IF_ERROR(AddStoredUse(connection, pending));
      result = ListUsage(connection, pending, page, damage);
      return result.map([](const Page<UsageSnapshot>&) {});
    });
    if (!read) return Fail(read.error());
    return result;
  }

  SharedFile& file_;
};

struct Loaded {
  std::optional<FileLock> lock;
  std::unique_ptr<StateFile> file;
  std::optional<BucketTime> time;
  std::unique_ptr<BucketTable> buckets;
  ConfigTable config;
};

class ReadingBackend final : public Backend, public DamageSource {
 public:
  ReadingBackend(const std::string& path, Loaded loaded, const Clock& clock,
                 const ReadingOptions& options)
      : name_(DescribeDataFile(path, options.namespace_name)),
        damage_(loaded.file->damage()),
        file_(name_, std::move(loaded.lock), std::move(loaded.file)),
        buckets_(file_, *loaded.time, std::move(loaded.buckets)),
        config_(file_, std::move(loaded.config)),
        namespaces_(NamespaceRegistry(path, options.vfs), clock,
                    [this] { return file_.CheckOpen(); }) {}

  BucketStore& buckets() override { return buckets_; }
  ConfigStore& config() override { return config_; }
  AuditLog& audit() override { return audit_; }
  UsageStore& usage() override { return usage_; }
  NamespaceStore& namespaces() override { return namespaces_; }
  Result<ReservationBackend*> reservations() override {
    return Fail(Code::kFailedPrecondition,
                fmt::format("{}: opened for reading only, without its slots; OpenReservations "
                            "opens them, also while another process owns the file",
                            name_));
  }
  std::string Describe() const override { return name_; }
  const DamageReport& damage() const override { return damage_; }
  Status Close() override {
    file_.Close();
    return {};
  }

 private:
  const std::string name_;
  const DamageReport damage_;
  SharedFile file_;
  BucketsReader buckets_;
  ConfigReader config_;
  AuditReader audit_{file_};
  UsageReader usage_{file_};
  FileNamespaces namespaces_;
};

// Returns the ownership, or nothing if another process owns the file, or the folder cannot be
// written.
std::optional<FileLock> TryToOwn(const std::string& path, UnixMillis now) {
  Result<FileLock> lock = FileLock::Take(path, now);
  if (!lock) return std::nullopt;
  return *std::move(lock);
}

// Returns an error if another process owns the file through another hard link: the write-ahead log
// is next to that link, where this process would not find it.
Status CheckOtherNames(FileLock& lock, const std::string& path) {
  Status guarded = lock.GuardInode(path);
  if (!guarded && guarded.error().code == Code::kUnavailable) return guarded;
  return {};
}

// Opens the existing file, and owns it if no other process does.
Status OpenExisting(const std::string& path, const Clock& clock, const ReadingOptions& options,
                    Loaded& loaded) {
  WEIR_RETURN_IF_ERROR(CheckRegularFile(path));
  // Without another owner, this process owns the file, so that it may be migrated.
  loaded.lock = TryToOwn(path, clock.WallNow());
  if (loaded.lock) WEIR_RETURN_IF_ERROR(CheckOtherNames(*loaded.lock, path));
  const auto writable = loaded.lock ? StateFile::Writable::kYes : StateFile::Writable::kNo;
  WEIR_ASSIGN_OR_RETURN(loaded.file, StateFile::OpenToRead(path, options.vfs, writable));
  return {};
}

// Opens the file. A registered namespace that was never written has no file, and is opened as
// empty.
Status OpenFile(const std::string& path, const Clock& clock, const ReadingOptions& options,
                Loaded& loaded) {
  // If the path cannot be examined, or is a link to a missing file, OpenExisting returns the error.
  // Only a namespace without a file is empty.
  std::error_code error;
  const auto type = std::filesystem::symlink_status(path, error).type();
  if (type != std::filesystem::file_type::not_found) {
    return OpenExisting(path, clock, options, loaded);
  }
  if (options.namespace_name.empty()) {
    return Fail(Code::kNotFound, fmt::format("sqlite:{}: there is no such file", path));
  }
  WEIR_ASSIGN_OR_RETURN(loaded.file, StateFile::OpenEmpty());
  return {};
}

Result<Loaded> LoadToRead(const std::string& path, const Clock& clock,
                          const ReadingOptions& options) {
  Loaded loaded;
  WEIR_RETURN_IF_ERROR(OpenFile(path, clock, options, loaded));
  WEIR_ASSIGN_OR_RETURN(const ClockOnBoot found,
                        loaded.file->ReadClock(options.boot.value_or(ReadBootIdentity()), clock));
  loaded.time.emplace(clock, found.clock.base);
  if (options.buckets) loaded.buckets = std::make_unique<BucketTable>();
  WEIR_RETURN_IF_ERROR(
      loaded.file->LoadSnapshot(loaded.buckets.get(), loaded.config, loaded.time->Now()));
  return loaded;
}

}  // namespace

Result<std::unique_ptr<Backend>> OpenToRead(const std::string& name, const Clock& clock,
                                            const ReadingOptions& options) {
  const std::string path = WithoutLink(name);
  WEIR_ASSIGN_OR_RETURN(const std::string file,
                        DataFile(path, options.namespace_name, options.vfs));
  WEIR_ASSIGN_OR_RETURN(Loaded loaded, LoadToRead(file, clock, options));
  return std::make_unique<ReadingBackend>(path, std::move(loaded), clock, options);
}

}  // namespace weir
