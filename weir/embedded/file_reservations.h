// Slots, accounts' limits and accounts' tokens in a file that any number of processes use at once.
// Format and locks: docs/design/embedded.md.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weir/base/time.h"
#include "weir/embedded/boot_identity.h"
#include "weir/store/reservation_backend.h"

namespace weir {

struct FileReservationsOptions {
  /// How long a call waits for other processes, if its deadline allows it.
  milliseconds longest_wait{5000};
  /// As EmbeddedOptions::boot.
  std::optional<BootIdentity> boot{};
  /// As EmbeddedOptions::vfs.
  std::string vfs;
};

/// The reservations beside the state file at `path`: they are in `PATH-reservations`, which nobody
/// owns. Each verb is one transaction, and on the disk before it is answered; it blocks for that
/// long, and answers before it returns (QueueReservations makes it asynchronous). Threads have
/// their turns in the order in which they came. The file is made by the first verb that has
/// something to keep; until then all is empty. Exact: a slot is free at its expiry.
///
/// Verbs answer kDeadlineExceeded where their turn did not come in time, and kUnavailable where
/// another process had the file for too long, or the file failed: nothing was changed then, or, if
/// the disk failed at the very end, all of it. kDataLoss: damaged.
///
/// Where the file exists already it is looked at here: kFailedPrecondition (written by a newer
/// weir, or not a weir file), kDataLoss, kPermissionDenied (cannot be written), kUnavailable.
///
/// `clock` is what deadlines and bucket time are of, and must outlive the result. All processes
/// that use the file on one boot of the machine have the same bucket time. kUnavailable, and
/// nothing is changed, if another process made the file meanwhile and its clock differs.
[[nodiscard]] Result<std::unique_ptr<ReservationBackend>> OpenFileReservations(
    const std::string& path, const Clock& clock, const FileReservationsOptions& options = {});

}  // namespace weir
