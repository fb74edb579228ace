// The files of a store: its state, its namespaces' states, their registry, and its reservations.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/embedded/boot_identity.h"
#include "weir/embedded/damage.h"
#include "weir/embedded/file_lock.h"
#include "weir/embedded/salvage.h"
#include "weir/embedded/schema.h"

namespace weir {

struct StoreFile {
  enum class Kind { kState, kNamespaces, kReservations };
  std::string path;
  Kind kind = Kind::kState;

  std::span<const Migration> migrations() const;
};

/// Those of the store at `path` that exist, whether they are damaged or not; the state comes first.
/// Of a namespace (its name, or `id:` and its id) its state alone. kNotFound: there is none.
[[nodiscard]] Result<std::vector<StoreFile>> FilesOf(const std::string& path,
                                                     const std::string& namespace_name = "");

/// What reading a whole file found.
struct FileCheck {
  std::map<std::string, std::uint64_t, std::less<>> rows;  ///< by table
  DamageReport damage;

  bool sound() const { return damage.count() == 0; }
};

/// Reads every page and every row; changes nothing, also if the file is of an older version. What
/// does not read is damage; pages are damage of the table "page". An error: the file cannot be read
/// at all (kPermissionDenied, kNotFound, kUnavailable: another process has it to itself), or is
/// none that this weir reads (kFailedPrecondition).
[[nodiscard]] Result<FileCheck> CheckFile(const StoreFile& file, UnixMillis now);

/// Copies the file as of one moment to `to`, which must not exist (kAlreadyExists), also while
/// other processes write to it. The copy is on the disk when this returns.
[[nodiscard]] Status BackUpFile(const StoreFile& file, const std::string& to);

struct FileRepair {
  std::string kept_as;  ///< where the damaged file is now; empty: it was sound, nothing is changed
  Salvaged salvaged;
  DamageReport damage;                ///< of the rows that were salvaged; they are left out
  std::uint64_t emptied_buckets = 0;  ///< without tokens, since later changes may be lost
  FileCheck result;                   ///< of the file that now has the path
};

struct RepairOptions {
  const Clock& clock;
  LockWait lock_wait{};  ///< for a process that owns the file
  /// As EmbeddedOptions::boot.
  std::optional<BootIdentity> boot{};
};

/// Salvages the records that still read into a new file, keeps the damaged file next to it, with
/// its write-ahead log, under a free name, and gives the path to the new file, which is on the disk
/// by then. If anything fails before that, the file stays as it was. A repair that is killed leaves
/// the file as it was, or a file that only another repair opens, which finishes the first.
/// kUnavailable: a process has the file open, or owns it.
[[nodiscard]] Result<FileRepair> RepairFile(const StoreFile& file, const RepairOptions& options);

}  // namespace weir
