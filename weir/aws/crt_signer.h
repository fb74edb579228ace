// Signing by AWS's C runtime.
#pragma once

#include <memory>

#include "weir/aws/crt_runtime.h"
#include "weir/aws/signer.h"

namespace weir {

/// Signature Version 4 in headers, as every service but S3 wants it: the path normalised and
/// encoded once more, no x-amz-content-sha256. What an earlier signing added is replaced, so that a
/// request may be signed again for another try. `runtime` must outlive the signer.
///
/// Sign answers kInvalidArgument, and leaves the request as it was, where the request or the
/// credentials lack what a signature needs.
std::unique_ptr<Signer> MakeSigner(const CrtRuntime& runtime, SigningScope scope);

}  // namespace weir
