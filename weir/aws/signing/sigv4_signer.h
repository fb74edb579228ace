// The signer of AWS's C runtime.
#pragma once

#include <memory>

#include "weir/aws/http/crt_runtime.h"
#include "weir/aws/signing/signer.h"

namespace weir {

/// Signs by Signature Version 4 in headers. For the service "s3" the path is signed as it is, and
/// x-amz-content-sha256 is added; for all other services the path is normalised and encoded once
/// more, and that header is not added. Headers of an earlier signature are replaced, so a request
/// can be signed again for a retry. `runtime` must outlive the signer.
///
/// Sign returns kInvalidArgument, and does not change the request, if the request or the
/// credentials lack a part that a signature needs.
std::unique_ptr<Signer> MakeSigner(const CrtRuntime& runtime, SigningScope scope);

}  // namespace weir
