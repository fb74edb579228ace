// AWS Signature Version 4.
#pragma once

#include <string>

#include "weir/aws/credentials.h"
#include "weir/aws/http.h"
#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir {

struct SigningScope {
  std::string region;   ///< for example eu-west-1
  std::string service;  ///< for example dynamodb
};

/// Thread-safe.
class Signer {
 public:
  virtual ~Signer() = default;
  /// Adds x-amz-date, x-amz-security-token where there is one, and authorization. The request must
  /// have its host header by then. Every header that it has is signed but for content-length and
  /// those that a proxy may change (user-agent, transfer-encoding, ...), as botocore signs. (AWS:
  /// "Create a signed AWS API request".)
  [[nodiscard]] virtual Status Sign(HttpRequest& request, const Credentials& credentials,
                                    UnixMillis now) = 0;
};

}  // namespace weir
