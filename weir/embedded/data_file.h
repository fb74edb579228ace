// Which file holds what a URL names, and how messages name it.
#pragma once

#include <string>

#include "weir/base/result.h"

namespace weir {

/// The file of a namespace (EmbeddedOptions::namespace_name) of the file at `path`; `path` itself
/// if the name is empty. Errors as NamespaceTable::Resolve.
[[nodiscard]] Result<std::string> DataFile(const std::string& path,
                                           const std::string& namespace_name,
                                           const std::string& vfs);

/// The file that a symbolic link names, so that the files next to it (the write-ahead log, slots,
/// namespaces) are the same by every name. `path` itself if it is no link, or cannot be resolved.
std::string WithoutLink(const std::string& path);

/// "sqlite:PATH" or "sqlite:PATH?namespace=NAME".
std::string DescribeDataFile(const std::string& path, const std::string& namespace_name);

/// kFailedPrecondition if something is at `path` that no database can be: a device, a folder, ...
[[nodiscard]] Status CheckRegularFile(const std::string& path);

}  // namespace weir
