// A request that a transport over sockets carries.
//
//   kWaiting --(a connection begins to write it)--> kSending --(response, failure, limit)--> kOver
//      +------------(limit, or no connection can be made)-------------------------------------^
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weir/aws/http/http.h"
#include "weir/base/time.h"

namespace weir::internal {

class SocketConnection;
using ConnectionPtr = std::shared_ptr<SocketConnection>;
using HttpResult = tl::expected<HttpResponse, HttpFailure>;

/// One request of a transport. The thread that is first to set kOver completes it.
struct Exchange {
  enum class State { kWaiting, kSending, kOver };

  HttpRequest request;  ///< its body is sent after `head`
  std::string head;     ///< request line, headers and, if small, the body (then not in `request`)
  SendLimits limits;
  HttpDone done;
  std::atomic<State> state = State::kWaiting;

  // The following belong to the transport and are guarded by its lock.
  std::optional<std::multimap<Instant, std::shared_ptr<Exchange>>::iterator> limit{};
  std::optional<std::list<std::shared_ptr<Exchange>>::iterator> queued{};
  ConnectionPtr connection{};
  bool completed = false;
};
using ExchangePtr = std::shared_ptr<Exchange>;

/// Returns a failure with the message `METHOD ENDPOINT: why`.
HttpFailure FailureOf(const HttpRequest& request, std::string_view endpoint, bool maybe_sent,
                      std::string_view why);
/// Returns the failure of a request that its limit has ended.
HttpFailure TimeOutOf(const HttpRequest& request, std::string_view endpoint, bool maybe_sent);

}  // namespace weir::internal
