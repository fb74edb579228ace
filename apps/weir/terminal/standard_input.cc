#include "apps/weir/terminal/standard_input.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <ios>
#include <utility>

namespace weir::app {
namespace {

constexpr int kLookMillis = 100;

}  // namespace

InterruptibleInput::InterruptibleInput(int fd, std::function<bool()> interrupted)
    : fd_(fd), interrupted_(std::move(interrupted)) {}

/// Returns true if data or the end of the input are available, false if the input must end.
bool InterruptibleInput::AwaitData() {
  while (!interrupted_() && !(look_ && look_())) {
    pollfd waited{.fd = fd_, .events = POLLIN, .revents = 0};
    if (poll(&waited, 1, kLookMillis) > 0) return true;
  }
  return false;
}

InterruptibleInput::int_type InterruptibleInput::underflow() {
  ssize_t got = -1;
  do {
    if (!AwaitData()) return traits_type::eof();
    got = read(fd_, buffer_.data(), buffer_.size());
  } while (got < 0 && (errno == EINTR || errno == EAGAIN));
  // istream catches this exception and sets badbit.
  if (got < 0) throw std::ios_base::failure("cannot read");
  if (got == 0) return traits_type::eof();
  setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
  return traits_type::to_int_type(buffer_.front());
}

}  // namespace weir::app
