#include "apps/weir/terminal/stop_request.h"

namespace weir::app {

bool StopRequest::Note(int signal, std::int64_t now) {
  if (!is_made()) {
    made_at_ = now;
    signal_ = signal;
    return true;
  }
  // The same request, repeated.
  if (now - made_at_ < kRepetition) return true;
  return is_second_awaited_ && !is_hurried_.exchange(true);
}

}  // namespace weir::app
