// Maps the operating system's errors to Code.
#pragma once

#include "weir/base/result.h"

namespace weir {

/// Returns the code of an errno of a file operation; kUnavailable if no better one is known.
Code CodeOfErrno(int system_error);

/// Returns the error of a file as a store reports it: kDataLoss stays; every other code becomes
/// kUnavailable, since the call may be retried.
Error AsStoreError(Error error);

}  // namespace weir
