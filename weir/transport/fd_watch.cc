#include "weir/transport/fd_watch.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <utility>

namespace weir::transport {

namespace asio = boost::asio;

struct FdWatch::State {
  State(asio::io_context& io, FdHandler& fd_handler) : descriptor(io), handler(&fd_handler) {}

  asio::posix::stream_descriptor descriptor;
  FdHandler* handler;  ///< null once the watch is gone
  bool awaits_readable = false;
  bool awaits_writable = false;
};

Result<std::unique_ptr<FdWatch>> FdWatch::Make(EventLoop& loop, UniqueFd fd, FdHandler& handler) {
  auto state = std::make_shared<State>(loop.io(), handler);
  boost::system::error_code error;
  error = state->descriptor.assign(fd.get(), error);
  if (!error) {
    fd.Release();
    error = state->descriptor.non_blocking(true, error);
  }
  if (!error) return std::unique_ptr<FdWatch>(new FdWatch(std::move(state)));
  return Fail(Code::kUnavailable,
              fmt::format("the event loop cannot wait for a descriptor: {}", error.message()));
}

FdWatch::FdWatch(std::shared_ptr<State> state) : state_(std::move(state)) {}

FdWatch::~FdWatch() {
  state_->handler = nullptr;
  boost::system::error_code ignored;
  [[maybe_unused]] const auto closed = state_->descriptor.close(ignored);
}

int FdWatch::fd() const { return state_->descriptor.native_handle(); }

void FdWatch::AwaitReadable() {
  if (std::exchange(state_->awaits_readable, true)) return;
  state_->descriptor.async_wait(asio::posix::descriptor_base::wait_read,
                                [state = state_](const boost::system::error_code&) {
                                  state->awaits_readable = false;
                                  if (state->handler != nullptr) state->handler->OnReadable();
                                });
}

void FdWatch::AwaitWritable() {
  if (std::exchange(state_->awaits_writable, true)) return;
  state_->descriptor.async_wait(asio::posix::descriptor_base::wait_write,
                                [state = state_](const boost::system::error_code&) {
                                  state->awaits_writable = false;
                                  if (state->handler != nullptr) state->handler->OnWritable();
                                });
}

}  // namespace weir::transport
