#include "weir/http2/unsent_body.h"

#include <algorithm>
#include <cstring>

namespace weir::http2 {

std::size_t UnsentBody::Take(std::uint8_t* buffer, std::size_t length) {
  const std::size_t count = std::min(length, size());
  std::memcpy(buffer, bytes_.data() + sent_, count);
  sent_ += count;
  // At least as many bytes were sent as are moved to the front now, so moving costs constant time
  // per byte.
  if (sent_ >= size()) {
    bytes_.erase(0, sent_);
    sent_ = 0;
  }
  return count;
}

}  // namespace weir::http2
