// The identity that signs requests, as AWS's Security Token Service knows it.
#pragma once

#include <string>
#include <string_view>

#include "weir/aws/json_client.h"
#include "weir/base/done.h"
#include "weir/base/result.h"
#include "weir/runtime/deadline.h"

namespace weir {

/// Calls GetCallerIdentity, which needs no permission. Returns the caller's ARN, for example
/// "arn:aws:sts::123456789012:assumed-role/admin/me". `client` must sign for "sts" and outlive the
/// call. Fails as ToError, and with kUnknown if the response cannot be parsed.
void GetCallerArn(JsonClient& client, Deadline deadline, Done<std::string> done);

/// Parses the response. (AWS STS API Reference, version 2011-06-15.)
[[nodiscard]] Result<std::string> ReadCallerArn(std::string_view body);

}  // namespace weir
