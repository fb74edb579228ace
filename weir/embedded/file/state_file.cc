#include "weir/embedded/file/state_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "weir/embedded/file/file_names.h"
#include "weir/embedded/file/file_replace.h"
#include "weir/embedded/file/schema.h"
#include "weir/embedded/rows/audit_rows.h"
#include "weir/embedded/rows/bucket_rows.h"
#include "weir/embedded/rows/config_rows.h"

namespace weir {
namespace {

// The length from which the write-ahead log is checkpointed, in pages of 4 KiB. A checkpoint writes
// the pages a second time and waits for the disk twice, so a longer log means fewer but longer
// pauses.
constexpr int kLongWalPages = 1000;

// Readers and the owner do not wait for each other. This wait is for other programs that write the
// file.
constexpr milliseconds kWaitForOthers{1000};

// Returns true for a file of any kind, also a link without a target, and if the path cannot be
// examined.
bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::symlink_status(path, error).type() !=
         std::filesystem::file_type::not_found;
}

}  // namespace

Result<std::unique_ptr<StateFile>> StateFile::Open(const std::string& path,
                                                   const StateFileOptions& options) {
  WEIR_RETURN_IF_ERROR(CheckReplaced(path));
  const bool existed = Exists(path);
  const bool had_wal = Exists(path + "-wal");
  auto opened = [&]() -> Result<std::unique_ptr<StateFile>> {
    WEIR_ASSIGN_OR_RETURN(auto connection, sqlite::Connection::Open(path, options.vfs));
    connection.KeepWalOnClose(had_wal);
    Log& log = options.log == nullptr ? NoLog() : *options.log;
    std::unique_ptr<StateFile> file(new StateFile(std::move(connection), log));
    WEIR_RETURN_IF_ERROR(file->SetUp(options));
    // The process that left the log may have ended because a sync failed.
    if (had_wal) file->connection_.DistrustLog();
    return file;
  }();
  if (!opened && !existed) RemoveDatabase(path);
  return opened;
}

Status StateFile::SetUp(const StateFileOptions& options) {
  if (connection_.read_only()) {
    return Fail(
        Code::kPermissionDenied,
        fmt::format("{}: can only be read; make it and its folder writable", connection_.name()));
  }
  connection_.WaitForOthers(kWaitForOthers);
  WEIR_RETURN_IF_ERROR(PrepareSchema(connection_));
  WEIR_ASSIGN_OR_RETURN(const std::string mode, connection_.QueryText("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return Fail(Code::kUnavailable,
                fmt::format("{}: cannot keep a write-ahead log", connection_.name()));
  }
  // Debian's SQLite overwrites deleted content with zeros by default.
  WEIR_RETURN_IF_ERROR(
      connection_.Execute(fmt::format("PRAGMA secure_delete = OFF; PRAGMA cache_size = -16000;"
                                      "PRAGMA journal_size_limit = {}",
                                      64 << 20)));
  sync_each_commit_ = options.sync_each_commit;
  WEIR_RETURN_IF_ERROR(SyncEachCommit(sync_each_commit_));
  WEIR_ASSIGN_OR_RETURN(log_, ChangeLog::Open(connection_, options.usage));
  return {};
}

Status StateFile::SyncEachCommit(bool sync) {
  return connection_.Execute(sync ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
}

Result<std::unique_ptr<StateFile>> StateFile::OpenToRead(const std::string& path,
                                                         const std::string& vfs,
                                                         Writable writable) {
  WEIR_RETURN_IF_ERROR(CheckReplaced(path));
  const bool had_wal = Exists(path + "-wal");
  auto opened = writable == Writable::kYes ? sqlite::Connection::Open(path, vfs)
                                           : sqlite::Connection::OpenToRead(path, vfs);
  if (opened && opened->read_only()) opened = sqlite::Connection::OpenToRead(path, vfs);
  if (!opened) return Fail(std::move(opened.error()));
  opened->KeepWalOnClose(had_wal);
  opened->WaitForOthers(kWaitForOthers);
  std::unique_ptr<StateFile> file(new StateFile(*std::move(opened), NoLog()));
  WEIR_RETURN_IF_ERROR(file->connection_.read_only() ? CheckSchema(file->connection_)
                                                     : PrepareSchema(file->connection_));
  return file;
}

Result<std::unique_ptr<StateFile>> StateFile::OpenEmpty() {
  WEIR_ASSIGN_OR_RETURN(auto connection, sqlite::Connection::OpenInMemory());
  WEIR_RETURN_IF_ERROR(PrepareSchema(connection));
  return std::unique_ptr<StateFile>(new StateFile(std::move(connection), NoLog()));
}

Status StateFile::LoadSnapshot(BucketTable* buckets, ConfigTable& config, UnixMillis now) {
  Status loaded = connection_.InSnapshot([&]() -> Status {
    WEIR_RETURN_IF_ERROR(LoadConfig(connection_, config, damage_));
    if (buckets == nullptr) return {};
    WEIR_ASSIGN_OR_RETURN(log_, ChangeLog::Open(connection_));
    return LoadAllBuckets({*buckets, config, damage_, now});
  });
  if (loaded) connection_.KeepWalOnClose(false);
  return loaded;
}

Status StateFile::Load(BucketTable& buckets, ConfigTable& config, UnixMillis now) {
  WEIR_RETURN_IF_ERROR(LoadConfig(connection_, config, damage_));
  WEIR_RETURN_IF_ERROR(LoadAllBuckets({buckets, config, damage_, now}));
  connection_.KeepWalOnClose(false);
  return {};
}

Status StateFile::LoadAllBuckets(const BucketsToLoad& context) {
  WEIR_ASSIGN_OR_RETURN(const ChangeIndex index, log_->Read(damage_));
  return LoadBuckets(connection_, index, context);
}

Result<ClockOnBoot> StateFile::ReadClock(const BootIdentity& boot, const Clock& clock) {
  WEIR_ASSIGN_OR_RETURN(const auto stored, weir::ReadClock(connection_, &damage_));
  return ClockForBoot(boot, stored, clock);
}

Status StateFile::StartClock(const ClockOnBoot& found) {
  if (!found.is_new) return {};
  return Write([&](sqlite::Connection& connection) { return WriteClock(connection, found.clock); },
               Sync::kAlways);
}

AuditMoment StateFile::moment() const {
  return {.label = labels_->Now(),
          .correction = labels_->correction(),
          .boot = labels_->time().clock().BootNow()};
}

Status StateFile::WriteConfig(const ConfigTable& table, std::span<const ConfigChange> changes,
                              std::span<const BucketKey> removed,
                              std::span<const AuditEvent> events) {
  return WithSync(Sync::kAlways, [&] {
    return log_->AppendRemoved(removed, [&]() -> Status {
      WEIR_RETURN_IF_ERROR(weir::WriteConfig(connection_, table, changes));
      if (events.empty()) return {};
      return WriteEvents(connection_, events, moment());
    });
  });
}

Status StateFile::Write(const Body& body, Sync sync) {
  return WithSync(sync,
                  [&] { return connection_.InTransaction([&] { return body(connection_); }); });
}

// Changes of settings are always synced: people expect them to last, and there are few of them.
Status StateFile::WithSync(Sync sync, const std::function<Status()>& write) {
  if (sync == Sync::kAsCommits || sync_each_commit_) return write();
  // A synced commit is lost as well if a commit before it is missing in the log.
  WEIR_RETURN_IF_ERROR(connection_.RestorePages());
  WEIR_RETURN_IF_ERROR(SyncEachCommit(true));
  const Status written = write();
  const Status restored = SyncEachCommit(false);
  return written ? restored : written;
}

Status StateFile::CheckpointIfLong() {
  if (connection_.wal_pages() < kLongWalPages) return {};
  return connection_.Checkpoint();
}

Status StateFile::Close() {
  log_.reset();
  Status checkpointed;
  // The log of a file that is not in place is emptied by Close.
  if (connection_.CheckInPlace()) checkpointed = connection_.EmptyLog().map([](bool) {});
  // On a full disk the commits stay in the log, which the checkpoint has synced.
  const bool is_full = !checkpointed && checkpointed.error().code == Code::kResourceExhausted;
  if (is_full && !connection_.log_may_lack_pages()) checkpointed = {};
  const Status closed = connection_.Close();
  return checkpointed ? closed : checkpointed;
}

}  // namespace weir
