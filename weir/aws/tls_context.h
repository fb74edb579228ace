// What all TLS connections of a transport share.
#pragma once

#include "weir/aws/byte_stream.h"
#include "weir/aws/crt_runtime.h"
#include "weir/base/result.h"

namespace weir::internal {

/// TLS 1.2 at least; verifies as `options` says. kInvalidArgument: the file or folder of
/// authorities cannot be read.
Result<TlsContext> MakeTlsContext(const CrtOptions& options);

}  // namespace weir::internal
