// AWS Signature Version 4.
#pragma once

#include <string>

#include "weir/aws/credentials/credentials.h"
#include "weir/aws/http/http.h"
#include "weir/base/api.h"
#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir {

struct SigningScope {
  std::string region;   ///< for example eu-west-1
  std::string service;  ///< for example dynamodb
};

/// Thread-safe.
class WEIR_API Signer {
 public:
  virtual ~Signer() = default;
  /// Adds x-amz-date, x-amz-security-token if there is a session token, and authorization. The
  /// request must have its host header already. All its headers are signed, except content-length
  /// and those that a proxy may change (user-agent, transfer-encoding, ...), as in botocore. (AWS:
  /// "Create a signed AWS API request".)
  [[nodiscard]] virtual Status Sign(HttpRequest& request, const Credentials& credentials,
                                    UnixMillis now) = 0;
};

}  // namespace weir
