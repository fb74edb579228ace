// The classification of the outcome of one request.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "weir/aws/failure.h"
#include "weir/aws/http/http.h"
#include "weir/base/time.h"

namespace weir {

struct Attempt {
  tl::expected<std::string, AwsFailure> result;  ///< the body of a successful response
  bool timed_out = false;
  std::optional<UnixMillis> server_time;  ///< the Date header of the response
};

struct AttemptContext {
  std::string_view operation;
  std::string_view host;
  std::size_t max_error_body = 0;  ///< bytes; a longer body is omitted
};

/// Classifies the outcome of a request. A status of 2xx is a success. A response whose x-amz-crc32
/// is not that of its body is kAmbiguous, whatever its status. A missing response is kAmbiguous if
/// the service may have seen the request, else kTransient. The bodies of kConditional and kConflict
/// are returned at any length: they contain the data that the caller requested. Does not set
/// `attempts` and `maybe_applied`: the caller does, as it knows the earlier attempts.
Attempt ClassifyResponse(tl::expected<HttpResponse, HttpFailure> response,
                         const AttemptContext& context);

}  // namespace weir
