// Reads a file next to the process that owns it. Mechanism: docs/design/embedded.md.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/embedded/boot_identity.h"
#include "weir/store/backend.h"

namespace weir {

struct ReadingOptions {
  /// If false, buckets are not loaded, and reading or listing them returns kFailedPrecondition. A
  /// file with many buckets then opens as fast as an empty one.
  bool buckets = true;
  /// See EmbeddedOptions::namespace_name.
  std::string namespace_name;
  /// See EmbeddedOptions::boot.
  std::optional<BootIdentity> boot{};
  /// See EmbeddedOptions::vfs.
  std::string vfs;
};

/// Opens an existing file for reading, whether or not another process owns it, and also if this
/// process has no permission to write it. Buckets, limits and entities are those of the last commit
/// before this call: next to an owner in relaxed mode they are at most one commit interval old
/// (older under heavy load: EmbeddedStats::longest_gap). audit() and usage() read the file at each
/// call. Each call completes before it returns, and waits for nothing but the disk. Calls that
/// would change the file return kFailedPrecondition. But namespaces() works as for an owner: its
/// calls may wait for other processes, and change the registry.
///
/// If no process owns the file, this process owns it until the reader is closed, and migrates it if
/// it is older.
///
/// A registered namespace has no file until it is first written. The reader of a namespace without
/// a file is empty, and creates and owns nothing.
///
/// Returns the errors of OpenEmbedded; kNotFound if there is no file, or the namespace is not
/// registered; and kFailedPrecondition if the file has an older version and cannot be migrated,
/// because of its owner or a folder without write permission. `clock` must outlive the result.
[[nodiscard]] Result<std::unique_ptr<Backend>> OpenToRead(const std::string& path,
                                                          const Clock& clock,
                                                          const ReadingOptions& options = {});

}  // namespace weir
