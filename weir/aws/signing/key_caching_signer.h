// A signer that does not derive the key again for each request.
#pragma once

#include <memory>

#include "weir/aws/signing/signer.h"

namespace weir {

/// Returns a signer that itself signs the requests of AWS's JSON and CBOR protocols: a POST to "/"
/// whose header names are in lower case and distinct, and whose values are in canonical form
/// already. The key of a secret and a day is derived once and cached (AWS: "Create a signed AWS API
/// request"). All other requests, and all for S3, whose signatures have another form, go to
/// `others`. So only `others` normalises and encodes, and only `others` rejects requests.
///
/// `others` must sign for the same scope; both signers then return the same results, with the same
/// headers in the same order. Sign returns kInternal, with the request unchanged, if OpenSSL
/// failed.
std::unique_ptr<Signer> MakeKeyCachingSigner(SigningScope scope, std::unique_ptr<Signer> others);

}  // namespace weir
