// The TLS settings that all connections of a transport share.
#pragma once

#include "weir/aws/http/byte_stream.h"
#include "weir/aws/http/crt_runtime.h"
#include "weir/base/result.h"

namespace weir::internal {

/// Returns a context for TLS 1.2 or later that verifies as `options` says. Returns kInvalidArgument
/// if the file or folder of authorities cannot be read, kUnavailable if OpenSSL fails.
Result<sockets::TlsContext> MakeTlsContext(const CrtOptions& options);

}  // namespace weir::internal
