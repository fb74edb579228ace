// Lets an event loop wait for one descriptor.
#pragma once

#include <memory>

#include "weir/base/result.h"
#include "weir/transport/event_loop.h"
#include "weir/transport/unique_fd.h"

namespace weir::transport {

/// Called on the loop's thread. Either function may destroy the watch.
class FdHandler {
 public:
  virtual ~FdHandler() = default;
  virtual void OnReadable() = 0;
  virtual void OnWritable() = 0;
};

/// Owns a descriptor and waits for it. Used and destroyed on the loop's thread. Each wait ends with
/// one call of the handler; no call follows after the watch is destroyed. A descriptor that is
/// broken counts as readable and writable.
class FdWatch {
 public:
  /// `loop` and `handler` must outlive the watch. Makes the descriptor non-blocking. Returns
  /// kUnavailable if the system refuses, for example because it is out of memory.
  static Result<std::unique_ptr<FdWatch>> Make(EventLoop& loop, UniqueFd fd, FdHandler& handler);
  ~FdWatch();
  FdWatch(const FdWatch&) = delete;
  FdWatch& operator=(const FdWatch&) = delete;

  int fd() const;
  /// Begins to wait, unless such a wait is in progress.
  void AwaitReadable();
  void AwaitWritable();

 private:
  struct State;
  explicit FdWatch(std::shared_ptr<State> state);
  // Shared with the waits, which the loop may end after the watch is gone.
  std::shared_ptr<State> state_;
};

}  // namespace weir::transport
