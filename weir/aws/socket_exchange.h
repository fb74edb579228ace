// A request that a transport over sockets carries.
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "weir/aws/http.h"
#include "weir/base/time.h"

namespace weir::internal {

class SocketConnection;
using ConnectionPtr = std::shared_ptr<SocketConnection>;
using HttpAnswer = tl::expected<HttpResponse, HttpFailure>;

/// One request of a transport, from Send to its answer. Whatever sets kOver first answers it.
struct Exchange {
  enum class State { kWaiting, kSending, kOver };

  HttpRequest request;  ///< its body alone is sent from here, behind `head`
  std::string head;
  SendLimits limits;
  HttpDone done;
  std::atomic<State> state = State::kWaiting;

  // The transport's, under its lock.
  std::optional<std::multimap<Instant, std::shared_ptr<Exchange>>::iterator> limit{};
  std::optional<std::list<std::shared_ptr<Exchange>>::iterator> queued{};
  ConnectionPtr connection{};
  bool answered = false;
};
using ExchangePtr = std::shared_ptr<Exchange>;

}  // namespace weir::internal
