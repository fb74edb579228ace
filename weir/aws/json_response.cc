#include "weir/aws/json_response.h"

#include <fmt/format.h>

namespace weir {

tl::unexpected<Error> MalformedResponse(std::string_view operation, std::string_view why) {
  return Fail(Code::kUnknown, fmt::format("response to {}: {}", operation, why));
}

}  // namespace weir
