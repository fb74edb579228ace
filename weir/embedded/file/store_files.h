// The files of a store: its state, the states of its namespaces, their registry, and its
// reservations.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/embedded/boot_identity.h"
#include "weir/embedded/file/damage.h"
#include "weir/embedded/file/file_lock.h"
#include "weir/embedded/file/salvage.h"
#include "weir/embedded/file/schema.h"

namespace weir {

struct StoreFile {
  enum class Kind { kState, kNamespaces, kReservations };
  std::string path;
  Kind kind = Kind::kState;

  std::span<const Migration> migrations() const;
};

/// Returns the existing files of the store at `path`, whether they are damaged or not; the state
/// comes first. With a namespace (its name, or `id:` and its id), returns only its state. Returns
/// kNotFound if there is none.
[[nodiscard]] Result<std::vector<StoreFile>> FilesOf(const std::string& path,
                                                     const std::string& namespace_name = "");

/// The result of reading a whole file.
struct FileCheck {
  std::map<std::string, std::uint64_t, std::less<>> rows;  ///< by table
  DamageReport damage;

  bool sound() const { return damage.count() == 0; }
};

/// Reads every page and every row. Changes nothing, also if the file is of an older version.
/// Unreadable rows are damage; unreadable pages are damage of the table "page". Returns an error if
/// the file cannot be read at all (kPermissionDenied, kNotFound, kUnavailable: another process has
/// exclusive access), or is not a file that this weir reads (kFailedPrecondition).
[[nodiscard]] Result<FileCheck> CheckFile(const StoreFile& file, UnixMillis now);

/// Copies the file as of one moment to `to`, which must not exist (else kAlreadyExists), also while
/// other processes write to it. The copy is on disk when this returns.
[[nodiscard]] Status BackUpFile(const StoreFile& file, const std::string& to);

struct FileRepair {
  /// New path of the damaged file; empty if it was sound and nothing was changed.
  std::string kept_as;
  Salvaged salvaged;
  DamageReport damage;                ///< of the salvaged rows; damaged ones are left out
  std::uint64_t emptied_buckets = 0;  ///< left without tokens, because later changes may be lost
  FileCheck result;                   ///< check of the file that now has the path
};

struct RepairOptions {
  const Clock& clock;
  LockWait lock_wait{};  ///< for another process that owns the file
  /// As EmbeddedOptions::boot.
  std::optional<BootIdentity> boot{};
};

/// Copies the readable records into a new file, syncs it, and gives it the path. The damaged file
/// and its write-ahead log are kept next to it, under a free name. If a step before the replacement
/// fails, the file stays as it was. If the repair is killed, the file is as it was, or can only be
/// opened by another repair, which completes the first one. Returns kUnavailable if a process has
/// the file open, or owns it.
[[nodiscard]] Result<FileRepair> RepairFile(const StoreFile& file, const RepairOptions& options);

}  // namespace weir
