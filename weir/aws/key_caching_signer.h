// Signing without deriving the key anew for each request.
#pragma once

#include <memory>

#include "weir/aws/signer.h"

namespace weir {

/// Signs by itself what AWS's JSON and CBOR protocols send: a POST to "/" whose header names are in
/// lower case, each but once, and whose values are in canonical form already. The key of a secret
/// and a day is derived once and kept (AWS: "Create a signed AWS API request"). All other requests
/// go to `others`, so that only one signer normalises, sorts and encodes, and only one refuses.
///
/// `others` signs for the same scope; both then answer alike, and leave the same headers in the
/// same order. kInternal, the request unchanged: OpenSSL failed.
std::unique_ptr<Signer> MakeKeyCachingSigner(SigningScope scope, std::unique_ptr<Signer> others);

}  // namespace weir
