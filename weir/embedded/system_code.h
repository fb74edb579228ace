// The operating system's errors in our codes.
#pragma once

#include "weir/base/result.h"

namespace weir {

/// What an errno of a file operation means to the caller; kUnavailable where nothing better is
/// known.
Code CodeOfErrno(int system_error);

}  // namespace weir
