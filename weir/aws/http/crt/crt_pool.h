// The pool of connections of one transport over AWS's runtime.
#pragma once

#include <aws/http/connection_manager.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "weir/aws/http/crt/crt_handle.h"
#include "weir/aws/http/crt_transport.h"
#include "weir/base/mutex.h"

struct aws_allocator;
struct aws_event_loop;

namespace weir::internal {

/// Thread-safe. The destructor waits until each AddRequest has had its RemoveRequest, and then
/// until every connection is closed.
class CrtPool {
 public:
  static Result<std::unique_ptr<CrtPool>> Open(const CrtRuntime& runtime,
                                               const TransportOptions& options);
  ~CrtPool();
  CrtPool(const CrtPool&) = delete;
  CrtPool& operator=(const CrtPool&) = delete;

  /// To be called before a request starts, and after it has completed.
  void AddRequest();
  void RemoveRequest();

  aws_allocator* allocator() const { return runtime_.allocator(); }
  aws_event_loop* loop() const { return runtime_.loop(); }
  aws_http_connection_manager* manager() const { return manager_.get(); }
  /// Returns host and port, for messages.
  const std::string& endpoint() const { return endpoint_; }
  /// Returns the value of the host header: without the port if it is the default of the scheme.
  const std::string& authority() const { return authority_; }
  std::size_t max_response_bytes() const { return max_response_bytes_; }
  /// Returns whether GivesUp may become true.
  bool may_give_up() const { return gives_up_ != nullptr; }
  bool GivesUp() const { return gives_up_ != nullptr && gives_up_(); }

 private:
  CrtPool(const CrtRuntime& runtime, const TransportOptions& options);
  Status CreateManager(const TransportOptions& options);

  const CrtRuntime& runtime_;
  const std::string endpoint_;
  const std::string authority_;
  const std::size_t max_response_bytes_;
  const std::function<bool()> gives_up_;
  ShutdownSignal manager_gone_;
  CrtHandle<aws_http_connection_manager, aws_http_connection_manager_release> manager_;

  Mutex mutex_;
  std::condition_variable_any empty_;
  std::size_t inside_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir::internal
