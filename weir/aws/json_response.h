// Reading the JSON body of a response.
#pragma once

#include <string_view>

#include "weir/base/result.h"
#include "weir/codec/json_members.h"

namespace weir {

/// Returns kUnknown: the body is not a response to `operation`, and why. The error is not
/// kDataLoss: stored data may be whole, and the response may be another program's.
tl::unexpected<Error> MalformedResponse(std::string_view operation, std::string_view why);

/// Like ReadMembers, but an error names the operation that `body` is the response to.
template <class Read>
Status ReadResponse(std::string_view operation, std::string_view body, const Read& read) {
  const Status status = ReadMembers(body, read);
  if (!status) return MalformedResponse(operation, status.error().message);
  return {};
}

}  // namespace weir
