// What the outcome of one request means.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "weir/aws/failure.h"
#include "weir/aws/http.h"
#include "weir/base/time.h"

namespace weir {

struct Attempt {
  tl::expected<std::string, AwsFailure> result;  ///< the body of a good answer
  bool timed_out = false;
  std::optional<UnixMillis> server_time;  ///< its Date header
};

struct AttemptContext {
  std::string_view operation;
  std::string_view host;
  std::size_t max_error_body = 0;  ///< bytes; a longer one is left out
};

/// 2xx is a good answer. One whose x-amz-crc32 is not its body's is kAmbiguous, whatever it says;
/// so is no answer if the service may have seen the request, and else it is kTransient. The bodies
/// of kConditional and kConflict are kept at any length: they hold what the caller asked for.
/// Leaves `attempts` and `maybe_applied` to the caller, who knows the earlier ones.
Attempt ClassifyResponse(tl::expected<HttpResponse, HttpFailure> answer,
                         const AttemptContext& context);

}  // namespace weir
