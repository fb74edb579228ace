// Giving names to files so that nothing is overwritten and a power loss loses nothing.
#pragma once

#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir {

/// A name that no file has: `stem`, then the first free number.
std::string FreeName(const std::string& stem);
/// True if something has the name, also a link that leads nowhere.
bool IsTaken(const std::string& path);

/// Returns when the contents of the file are on the disk.
[[nodiscard]] Status SyncFile(const std::string& path);
/// Returns when the names in the folder of the path are on the disk.
[[nodiscard]] Status SyncFolder(const std::string& path);

/// A second name for a file. kAlreadyExists, and nothing changes, if something has it.
[[nodiscard]] Status LinkFile(const std::string& from, const std::string& to);
/// Gives the file the name `to`, whatever had it.
[[nodiscard]] Status RenameFile(const std::string& from, const std::string& to);
void RemoveFile(const std::string& path);
/// Gives the file the name `to`, which nothing has yet: kAlreadyExists.
[[nodiscard]] Status RenameToFree(const std::string& from, const std::string& to);

/// "cannot VERB PATH: ", and what the number of the error means.
tl::unexpected<Error> FileFailure(std::string_view verb, const std::string& path, int number);

}  // namespace weir
