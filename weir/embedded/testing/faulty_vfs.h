// A disk that fails on demand: an SQLite VFS around the default one. For tests only.
#pragma once

#include <sqlite3.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace weir {

/// Counts the operations that change files (writes, syncs, truncations, deletions) and makes some
/// of them fail. Not thread-safe, except as noted. Must outlive every connection that uses it.
class FaultyVfs {
 public:
  enum class Fault {
    kError,       ///< nothing happens, and an input/output error is returned
    kFull,        ///< a write: nothing is written, the disk is full; other operations: as kError
    kShortWrite,  ///< a write: half of it is written, then an error; other operations: as kError
  };

  explicit FaultyVfs(std::string name);
  ~FaultyVfs();
  FaultyVfs(const FaultyVfs&) = delete;
  FaultyVfs& operator=(const FaultyVfs&) = delete;

  const std::string& name() const { return name_; }
  /// Makes the operation with this number fail, and `more` after it. Operations count from 1, from
  /// this call on.
  void FailAt(std::uint64_t number, Fault fault, std::uint64_t more = 0);
  void FailFromNowOn(Fault fault) { FailAt(1, fault, UINT64_MAX - 1); }
  void Heal() { fail_from_ = 0; }
  std::uint64_t failures() const { return failures_; }
  /// Makes the disk full: bytes of a file can still be overwritten, but no file can grow.
  void ForbidGrowth() { may_grow_ = false; }

  /// Makes every sync block until ReleaseSyncs, as on a disk that hangs. HoldSyncs, AwaitHeldSync
  /// and ReleaseSyncs are thread-safe.
  void HoldSyncs();
  /// Blocks until a sync hangs.
  void AwaitHeldSync();
  void ReleaseSyncs();

  std::uint64_t syncs() const { return syncs_; }
  std::uint64_t bytes_written() const { return bytes_written_; }
  /// Makes files open as if the disk were mounted for reading only.
  void MakeReadOnly() { read_only_ = true; }

  /// Copies the files whose names begin with `path` to names that begin with `copy`, as a power
  /// loss now would leave them: each in the state of its last sync. Bytes that were written before
  /// a failed sync are missing, as on Linux, which marks those pages clean.
  void CopySynced(const std::string& path, const std::string& copy) const;

 private:
  struct File;
  struct Methods;

  /// Counts an operation. Returns whether it fails.
  bool Fails();
  /// Takes the present contents of a file as synced, when it is opened first.
  void SnapshotOnOpen(const std::string& path);
  /// Notes the pages of a write.
  void MarkDirty(const std::string& path, std::int64_t at, int size);
  /// Adds the noted pages to the synced contents.
  void MarkSynced(const std::string& path);
  /// Blocks while syncs are held.
  void WaitWhileHeld();

  std::string name_;
  sqlite3_vfs vfs_{};
  sqlite3_vfs* real_;
  std::uint64_t operations_ = 0;
  std::uint64_t fail_from_ = 0;  // 0: no operation fails
  std::uint64_t fail_to_ = 0;
  Fault fault_ = Fault::kError;
  std::uint64_t failures_ = 0;
  std::uint64_t syncs_ = 0;
  std::uint64_t bytes_written_ = 0;
  bool read_only_ = false;
  bool may_grow_ = true;
  std::map<std::string, std::string> synced_;  // synced contents, by path
  // Pages written since the last sync, by path.
  std::map<std::string, std::set<std::int64_t>> dirty_;

  std::mutex gate_mutex_;
  std::condition_variable gate_;
  bool held_ = false;  // this and is_waiting_ are guarded by gate_mutex_
  bool is_waiting_ = false;
};

}  // namespace weir
