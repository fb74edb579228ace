#include "weir/runtime/arrival.h"

#include <poll.h>

namespace weir::internal {

bool Arrival::WaitUnlessReadable(int readable, int wake) {
  Waiter waiter(wake);
  if (!EnlistWaiter(waiter)) return true;
  pollfd watched[] = {{.fd = readable, .events = POLLIN, .revents = 0},
                      {.fd = wake, .events = POLLIN, .revents = 0}};
  poll(watched, 2, -1);
  void* enlisted = &waiter;
  if (state_.compare_exchange_strong(enlisted, nullptr, std::memory_order_acq_rel)) return false;
  // The announcing thread writes one unit to `wake`, or has written it. Read it here, so that it
  // does not wake a later wait.
  std::uint64_t one = 0;
  while (read(wake, &one, sizeof(one)) < 0) {  // retry after a signal
  }
  return true;
}

}  // namespace weir::internal
