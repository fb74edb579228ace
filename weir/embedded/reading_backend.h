// A file as a reader sees it, next to the process that owns it. docs/design/embedded.md.
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
  /// Off: buckets are not loaded, and reading or listing them is kFailedPrecondition. A file with
  /// many of them then opens as quickly as an empty one.
  bool buckets = true;
  /// As EmbeddedOptions::namespace_name.
  std::string namespace_name;
  /// As EmbeddedOptions::boot.
  std::optional<BootIdentity> boot{};
  /// As EmbeddedOptions::vfs.
  std::string vfs;
};

/// Opens a file that is there, to read it, whether or not another process owns it, and also if it
/// can only be read. Buckets, limits and entities are as of the last commit before the call: beside
/// an owner in relaxed mode at most its commit interval old (under heavy load longer:
/// EmbeddedStats::longest_gap). audit() and usage() read the file at each call; no call waits for
/// anything but the disk, and each is answered before it returns. What would change the file is
/// kFailedPrecondition, except for namespaces(), which works as that of an owner.
///
/// If nobody owns the file, it is owned until the reader is closed, and migrated if it is older.
///
/// Errors as OpenEmbedded, and kNotFound if there is no file. kFailedPrecondition: of an older
/// version, and its owner, or a folder that cannot be written, keeps it from being migrated.
/// `clock` must outlive the result.
[[nodiscard]] Result<std::unique_ptr<Backend>> OpenToRead(const std::string& path,
                                                          const Clock& clock,
                                                          const ReadingOptions& options = {});

}  // namespace weir
