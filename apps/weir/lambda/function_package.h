// The files of an AWS Lambda function: this program, and all that it needs of the system.
#pragma once

#include <string>
#include <vector>

#include "apps/weir/lambda/zip_file.h"
#include "weir/base/result.h"

namespace weir::app {

/// Returns the starter (bootstrap), this program, its loader and libraries, and the file of
/// authorities at `authorities`, in the order of their names. Lambda's system may be older than the
/// one this program was built on, so nothing of that system is used but its kernel.
///
/// Returns kNotFound or kUnavailable, with the file, if a file cannot be read, kInvalidArgument if
/// `authorities` has no certificate, and kFailedPrecondition if this process was started in a way
/// that hides its program or loader. The package runs on this machine's architecture.
[[nodiscard]] Result<std::vector<PackageFile>> FilesOfFunction(const std::string& authorities);

}  // namespace weir::app
