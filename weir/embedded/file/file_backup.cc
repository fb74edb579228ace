#include "weir/embedded/file/file_backup.h"

#include <chrono>

#include "weir/embedded/file/file_names.h"
#include "weir/embedded/file/file_replace.h"
#include "weir/embedded/file/sqlite.h"

namespace weir {
namespace {

constexpr std::chrono::seconds kBackupPatience{5};

}  // namespace

Status BackUpFile(const StoreFile& file, const std::string& to) {
  WEIR_RETURN_IF_ERROR(CheckReplaced(file.path));
  // The copy gets an unused name first, so that an incomplete copy never has the name `to`.
  const std::string temporary = FreeName(to + ".new");
  Status copied = [&]() -> Status {
    WEIR_ASSIGN_OR_RETURN(auto connection, sqlite::Connection::OpenUnchanged(file.path, ""));
    connection.WaitForOthers(kBackupPatience);
    WEIR_ASSIGN_OR_RETURN(auto copy, connection.CopyTo(temporary));
    return copy.Close();
  }();
  if (copied) copied = SyncFile(temporary);
  if (copied) copied = RenameToFree(temporary, to);
  RemoveDatabase(temporary);
  if (!copied) return copied;
  const Status synced = SyncFolder(to);
  if (!synced) RemoveDatabase(to);
  return synced;
}

}  // namespace weir
