// The SQLite file of the embedded backend: what stands in it, and each way it is written.
// docs/design/embedded.md.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "weir/embedded/audit_rows.h"
#include "weir/embedded/bucket_rows.h"
#include "weir/embedded/change_log.h"
#include "weir/embedded/clock_rows.h"
#include "weir/embedded/damage.h"
#include "weir/embedded/sqlite.h"
#include "weir/model/audit_event.h"
#include "weir/store/bucket_table.h"
#include "weir/store/config_table.h"
#include "weir/store/label_clock.h"

namespace weir {

struct StateFileOptions {
  bool sync_each_commit = false;  ///< else a power loss may take the latest commits, whole
  std::string vfs;
  Log* log = nullptr;  ///< none: nothing is logged
};

/// Not thread-safe. Each verb is one transaction, or leaves the file as it was; after an error it
/// may be tried again. Errors as sqlite::Connection.
class StateFile {
 public:
  /// Opens, or creates. On failure the file is as it was, or absent if it was.
  [[nodiscard]] static Result<std::unique_ptr<StateFile>> Open(const std::string& path,
                                                               const StateFileOptions& options);

  /// Opens a file that is there, to be loaded by LoadSnapshot and read. kYes: its schema may be
  /// migrated, and its write-ahead log moved into it on closing. Errors as OpenToRead
  /// (reading_backend.h).
  enum class Writable { kNo, kYes };
  [[nodiscard]] static Result<std::unique_ptr<StateFile>> OpenToRead(const std::string& path,
                                                                     const std::string& vfs,
                                                                     Writable writable);

  std::string name() const { return connection_.name(); }

  /// Fills empty tables. A row that does not read is noted in damage() and left out; if it is of a
  /// bucket whose key reads, that bucket is empty as of `now`, under all limits that are known for
  /// it. kDataLoss if SQLite cannot read a page.
  [[nodiscard]] Status Load(BucketTable& buckets, ConfigTable& config, UnixMillis now);
  /// Of the rows that were read so far.
  DamageReport& damage() { return damage_; }

  /// The clock of this boot, as the file keeps it; nothing is written. A row that does not read is
  /// noted in damage(), and counts as none.
  [[nodiscard]] Result<ClockOnBoot> ReadClock(const BootIdentity& boot, const Clock& clock);
  /// Before anything is charged on this boot: writes it, if it is new.
  [[nodiscard]] Status StartClock(const ClockOnBoot& found);
  /// What stamps events; must outlive the file. REQUIRES: before WriteConfig and moment().
  void StampBy(LabelClock& labels) { labels_ = &labels; }
  AuditMoment moment() const;
  /// Lets that clock look at the wall clock, which it follows by such samples.
  void SampleClock() { labels_->Now(); }
  /// The same of a file that is only read, as of one moment. `buckets` null: none are loaded.
  [[nodiscard]] Status LoadSnapshot(BucketTable* buckets, ConfigTable& config, UnixMillis now);

  ChangeLog& log() { return *log_; }
  /// Writes what `table` has now of everything that `changes` touch, to the log that the buckets in
  /// `removed` are gone, and `events`, whose times are now. Synced in any case.
  [[nodiscard]] Status WriteConfig(const ConfigTable& table, std::span<const ConfigChange> changes,
                                   std::span<const BucketKey> removed,
                                   std::span<const AuditEvent> events);

  /// What `body` reads, or writes in one transaction, synced in any case or as other commits are.
  using Body = std::function<Status(sqlite::Connection&)>;
  enum class Sync { kAlways, kAsCommits };
  [[nodiscard]] Status Read(const Body& body) { return body(connection_); }
  [[nodiscard]] Status Write(const Body& body, Sync sync);

  /// Keeps the write-ahead log from growing without end.
  [[nodiscard]] Status CheckpointIfLong();

  /// Folds the whole log, checkpoints, closes; the first error. Nothing else may be called after.
  [[nodiscard]] Status Close(const BucketTable& buckets);

 private:
  StateFile(sqlite::Connection connection, Log& log)
      : connection_(std::move(connection)), damage_(connection_.name(), log) {}
  Status SetUp(const StateFileOptions& options);
  Status SyncEachCommit(bool sync);
  Status RewriteLog();
  Status WithSync(Sync sync, const std::function<Status()>& write);
  Status LoadAllBuckets(const BucketsToLoad& to);

  sqlite::Connection connection_;
  bool sync_each_commit_ = false;
  bool lost_pages_ = false;  // a synced write failed since the write-ahead log last began
  LabelClock* labels_ = nullptr;
  std::optional<ChangeLog> log_;  // set once it is open
  DamageReport damage_;
};

}  // namespace weir
