// What a connection stores for each stream.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "weir/base/time.h"
#include "weir/http2/stream.h"
#include "weir/http2/unsent_body.h"

namespace weir::http2 {

struct StreamState {
  std::int32_t id = 0;
  Instant due;                            ///< the time at which the request has to be complete
  std::optional<Instant> response_due{};  ///< the time at which the response has to be taken
  std::unique_ptr<Stream> stream;
  std::size_t header_bytes = 0;
  bool is_refused = false;    ///< the rest of the request is ignored
  bool is_complete = false;   ///< the request was received to its end
  bool is_overdue = false;    ///< the request or the response was not in time
  bool is_completed = false;  ///< Respond was called
  bool is_finished = false;   ///< Finish was called, or Respond as the end
  bool is_deferred = false;   ///< the session waits for Write or Finish
  UnsentBody body{};
  absl::InlinedVector<std::pair<std::string, std::string>, 1> trailers{};
};

}  // namespace weir::http2
