// Names and renames files so that none is overwritten by accident and a power loss loses none.
#pragma once

#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir {

/// Returns an unused name: `stem`, a hyphen and the first free number.
std::string FreeName(const std::string& stem);
/// Returns true if a file of any kind has the name, also a link whose target does not exist.
bool IsTaken(const std::string& path);

/// Returns when the contents of the file are on disk.
[[nodiscard]] Status SyncFile(const std::string& path);
/// Returns when the names in the folder of `path` are on disk.
[[nodiscard]] Status SyncFolder(const std::string& path);

/// Gives a file a second name. Returns kAlreadyExists, and changes nothing, if the name is taken.
[[nodiscard]] Status LinkFile(const std::string& from, const std::string& to);
/// Renames a file to `to`, and replaces any file of that name.
[[nodiscard]] Status RenameFile(const std::string& from, const std::string& to);
void RemoveFile(const std::string& path);
/// Removes a database and the files that SQLite keeps next to it.
void RemoveDatabase(const std::string& path);
/// Renames a file to `to`. Returns kAlreadyExists if the name is taken.
[[nodiscard]] Status RenameToFree(const std::string& from, const std::string& to);

/// Returns the error "cannot VERB PATH: " and the meaning of `number`, an errno.
tl::unexpected<Error> FileFailure(std::string_view verb, const std::string& path, int number);

}  // namespace weir
