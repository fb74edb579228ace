// Slots, accounts' limits and accounts' tokens in a file that any number of processes use at once.
// Format and locks: docs/design/embedded.md.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weir/base/time.h"
#include "weir/embedded/boot_identity.h"
#include "weir/store/reservation/reservation_backend.h"

namespace weir {

struct FileReservationsOptions {
  /// How long a call waits for other processes, if its deadline allows it.
  milliseconds longest_wait{5000};
  /// See EmbeddedOptions::boot.
  std::optional<BootIdentity> boot{};
  /// See EmbeddedOptions::vfs.
  std::string vfs;
};

/// Opens the reservations of the state file at `path`. They are stored in `PATH-reservations`,
/// which no process owns. The file is created by the first call that has data to store; until then
/// all is empty. A slot is free exactly from its expiry on.
///
/// Each call is one transaction, which is on disk before the call completes. A call blocks for that
/// long, and completes before it returns (QueueReservations makes it asynchronous). Threads are
/// served in the order of their calls.
///
/// Calls return kDeadlineExceeded if their turn did not come in time; kUnavailable if another
/// process used the file for too long, or the file failed; and kDataLoss if it is damaged. After
/// such an error nothing has changed; but if the disk failed at the very end of a commit, the whole
/// change may have been made. If the file or its write-ahead log was deleted, moved or replaced
/// after the file was opened, all calls return kUnavailable until it is back. A repaired file is
/// another one: processes that have used the file before the repair must be started again.
///
/// If the file exists, it is checked here. Returns kFailedPrecondition (written by a newer weir, or
/// not a weir file), kDataLoss, kPermissionDenied (cannot be written) or kUnavailable.
///
/// `clock` is the clock of deadlines and of bucket time, and must outlive the result. All processes
/// that use the file on one boot of the machine have the same bucket time. If another process
/// creates the file after this call and its clock differs, the next call returns kUnavailable and
/// changes nothing.
[[nodiscard]] Result<std::unique_ptr<ReservationBackend>> OpenFileReservations(
    const std::string& path, const Clock& clock, const FileReservationsOptions& options = {});

}  // namespace weir
