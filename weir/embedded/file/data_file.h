// Finds the file that a URL names, and names it in messages.
#pragma once

#include <string>

#include "weir/base/result.h"

namespace weir {

/// Returns the path of the file of a namespace (EmbeddedOptions::namespace_name) of the file at
/// `path`, or `path` itself if the name is empty. Errors are those of NamespaceTable::Resolve and
/// of reading the registry.
[[nodiscard]] Result<std::string> DataFile(const std::string& path,
                                           const std::string& namespace_name,
                                           const std::string& vfs);

/// Returns the path of the file that a symbolic link names, so that the files next to it (the
/// write-ahead log, slots, namespaces) are the same under every name. Returns `path` itself if it
/// is not a link, or cannot be resolved.
std::string WithoutLink(const std::string& path);

/// Returns "sqlite:PATH" or "sqlite:PATH?namespace=NAME".
std::string DescribeDataFile(const std::string& path, const std::string& namespace_name);

/// Returns kFailedPrecondition if `path` exists but cannot be a database: a device, a folder, ...
[[nodiscard]] Status CheckRegularFile(const std::string& path);

}  // namespace weir
