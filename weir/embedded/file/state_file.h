// The SQLite file of the embedded backend: its contents, and all functions that write it. Format:
// docs/design/embedded.md.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "weir/embedded/commit/change_log.h"
#include "weir/embedded/file/damage.h"
#include "weir/embedded/file/sqlite.h"
#include "weir/embedded/rows/audit_rows.h"
#include "weir/embedded/rows/bucket_rows.h"
#include "weir/embedded/rows/clock_rows.h"
#include "weir/model/audit_event.h"
#include "weir/store/bucket/bucket_table.h"
#include "weir/store/bucket/label_clock.h"
#include "weir/store/config/config_table.h"

namespace weir {

struct StateFileOptions {
  /// If false, a power loss may lose the latest commits, each as a whole.
  bool sync_each_commit = false;
  std::string vfs;
  Log* log = nullptr;  ///< null: nothing is logged
  UsageLimits usage{};
};

/// Not thread-safe. A function that changes the file is one transaction, except Read, whose body
/// makes its own. After an error the file is as it was before the failed transaction, and the
/// function may be retried. Errors are those of sqlite::Connection.
class StateFile {
 public:
  /// Opens or creates the file. On failure the file is as it was, or still absent.
  [[nodiscard]] static Result<std::unique_ptr<StateFile>> Open(const std::string& path,
                                                               const StateFileOptions& options);

  enum class Writable { kNo, kYes };
  /// Opens an existing file, to be loaded by LoadSnapshot and read. Writable::kYes: its schema may
  /// be migrated, and its write-ahead log may be moved into it on closing. Errors are those of
  /// OpenToRead (reading_backend.h).
  [[nodiscard]] static Result<std::unique_ptr<StateFile>> OpenToRead(const std::string& path,
                                                                     const std::string& vfs,
                                                                     Writable writable);

  /// Makes an empty file in memory, to be read as one of OpenToRead.
  [[nodiscard]] static Result<std::unique_ptr<StateFile>> OpenEmpty();

  std::string name() const { return connection_.name(); }

  /// Fills empty tables. An unreadable row is noted in damage() and left out; an unreadable level,
  /// and an entity whose parent is unreadable, are marked (ConfigTable::MarkUnreadable). A bucket
  /// with an unreadable row and a readable key is loaded without tokens, as of `now`, with all
  /// limits that are known for it. Returns kDataLoss if SQLite cannot read a page.
  [[nodiscard]] Status Load(BucketTable& buckets, ConfigTable& config, UnixMillis now);
  /// Returns the damage of the rows that were read so far.
  DamageReport& damage() { return damage_; }

  /// Returns the clock of this boot, as stored in the file, or a new one. Writes nothing. An
  /// unreadable row is noted in damage(), and treated as absent.
  [[nodiscard]] Result<ClockOnBoot> ReadClock(const BootIdentity& boot, const Clock& clock);
  /// Writes the clock to the file, if it is new. Call it before anything is charged on this boot.
  [[nodiscard]] Status StartClock(const ClockOnBoot& found);
  /// Sets the clock that stamps events; it must outlive the file. Call this before WriteConfig and
  /// moment().
  void SetLabelClock(LabelClock& labels) { labels_ = &labels; }
  AuditMoment moment() const;
  /// Lets the label clock take a sample of the wall clock, which it follows.
  void SampleClock() { labels_->Now(); }
  /// Loads a file that is only read, like Load, but as of one moment. If `buckets` is null, none
  /// are loaded.
  [[nodiscard]] Status LoadSnapshot(BucketTable* buckets, ConfigTable& config, UnixMillis now);

  ChangeLog& log() { return *log_; }
  /// Writes the limits and entities that `changes` concern, as they are in `table` now; writes to
  /// the log that the buckets in `removed` are removed; and appends `events`, which the caller has
  /// stamped. Always syncs.
  [[nodiscard]] Status WriteConfig(const ConfigTable& table, std::span<const ConfigChange> changes,
                                   std::span<const BucketKey> removed,
                                   std::span<const AuditEvent> events);

  /// Work on the connection.
  using Body = std::function<Status(sqlite::Connection&)>;
  /// Whether a write is synced always, or only if each commit is (sync_each_commit).
  enum class Sync { kAlways, kAsCommits };
  /// Runs `body` outside a transaction.
  [[nodiscard]] Status Read(const Body& body) { return body(connection_); }
  /// Runs `body` in one transaction.
  [[nodiscard]] Status Write(const Body& body, Sync sync);

  /// Checkpoints the write-ahead log if it is long.
  [[nodiscard]] Status CheckpointIfLong();

  /// Checkpoints and closes the file. Returns the first error, also that of
  /// sqlite::Connection::CheckInPlace. No other function may be called afterwards.
  [[nodiscard]] Status Close();

 private:
  StateFile(sqlite::Connection connection, Log& log)
      : connection_(std::move(connection)), damage_(connection_.name(), log) {}
  Status SetUp(const StateFileOptions& options);
  Status SyncEachCommit(bool sync);
  /// Runs `write` with the given kind of sync.
  Status WithSync(Sync sync, const std::function<Status()>& write);
  Status LoadAllBuckets(const BucketsToLoad& context);

  sqlite::Connection connection_;
  bool sync_each_commit_ = false;
  LabelClock* labels_ = nullptr;
  std::optional<ChangeLog> log_;  // set once it is open
  DamageReport damage_;
};

}  // namespace weir
