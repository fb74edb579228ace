// A disk that fails when a test says so: an SQLite VFS around the default one. Tests only.
#pragma once

#include <sqlite3.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace weir {

/// Counts what changes files (writes, syncs, truncations, deletions) and makes some of it fail.
/// Not thread-safe. Every connection that uses it ends first.
class FaultyVfs {
 public:
  enum class Fault {
    kError,       ///< nothing happens, an input/output error is reported
    kFull,        ///< a write: nothing is written, the disk is full; else as kError
    kShortWrite,  ///< a write: half of it is written, then an error; else as kError
  };

  explicit FaultyVfs(std::string name);
  ~FaultyVfs();
  FaultyVfs(const FaultyVfs&) = delete;
  FaultyVfs& operator=(const FaultyVfs&) = delete;

  const std::string& name() const { return name_; }
  /// The operation with this number, counted from 1 from now on, fails, and `more` after it.
  void FailAt(std::uint64_t number, Fault fault, std::uint64_t more = 0);
  void FailFromNowOn(Fault fault) { FailAt(1, fault, UINT64_MAX - 1); }
  void Heal() { fail_from_ = 0; }
  std::uint64_t failures() const { return failures_; }
  /// From now on the disk is full: the bytes of a file can be overwritten, but no file can grow.
  void ForbidGrowth() { may_grow_ = false; }

  /// From now on a sync does not return before ReleaseSyncs, as on a disk that hangs. These three
  /// are thread-safe.
  void HoldSyncs();
  /// Returns when a sync hangs.
  void AwaitHeldSync();
  void ReleaseSyncs();

  std::uint64_t syncs() const { return syncs_; }
  std::uint64_t bytes_written() const { return bytes_written_; }
  /// Files open as if the disk were mounted for reading only.
  void MakeReadOnly() { read_only_ = true; }

  /// Copies the files whose names begin with `path` to names that begin with `copy`, as a power
  /// loss now would leave them: each as of its last sync. Bytes written before a sync that failed
  /// are missing, as on Linux, which marks those pages clean.
  void CopySynced(const std::string& path, const std::string& copy) const;

 private:
  struct File;
  struct Methods;

  bool Fails();
  void KeepWhatIsThere(const std::string& path);
  void MarkDirty(const std::string& path, std::int64_t at, int size);
  void KeepDirty(const std::string& path);
  void WaitWhileHeld();

  std::string name_;
  sqlite3_vfs vfs_{};
  sqlite3_vfs* real_;
  std::uint64_t operations_ = 0;
  std::uint64_t fail_from_ = 0;  // 0: none
  std::uint64_t fail_to_ = 0;
  Fault fault_ = Fault::kError;
  std::uint64_t failures_ = 0;
  std::uint64_t syncs_ = 0;
  std::uint64_t bytes_written_ = 0;
  bool read_only_ = false;
  bool may_grow_ = true;
  std::map<std::string, std::string> synced_;            // by path
  std::map<std::string, std::set<std::int64_t>> dirty_;  // by path: pages written since a sync

  std::mutex gate_mutex_;
  std::condition_variable gate_;
  bool held_ = false;  // these two are guarded by gate_mutex_
  bool is_waiting_ = false;
};

}  // namespace weir
