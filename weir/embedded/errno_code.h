// The operating system's errors in our codes.
#pragma once

#include "weir/base/result.h"

namespace weir {

/// What an errno of a file operation means to the caller; kUnavailable where nothing better is
/// known.
Code CodeOfErrno(int system_error);

/// The error of a file as a store reports it: kDataLoss stays, all else is kUnavailable and can be
/// tried again.
Error AsStoreError(Error error);

}  // namespace weir
