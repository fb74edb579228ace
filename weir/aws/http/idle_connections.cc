#include "weir/aws/http/idle_connections.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace weir::internal {

Instant IdleConnections::Add(ConnectionPtr connection, Instant now) {
  std::deque<Idle>& idle = connection->is_watched() ? watched_ : unwatched_;
  idle.push_back({std::move(connection), now});
  return now + timeout_;
}

ConnectionPtr IdleConnections::Take(Reader reader) {
  const bool first_watched = reader == Reader::kLoop;
  for (std::deque<Idle>* const from :
       {first_watched ? &watched_ : &unwatched_, first_watched ? &unwatched_ : &watched_}) {
    if (from->empty()) continue;
    ConnectionPtr last = std::move(from->back().connection);
    from->pop_back();
    return last;
  }
  return nullptr;
}

bool IdleConnections::Remove(const ConnectionPtr& connection) {
  const auto is_it = [&](const Idle& idle) { return idle.connection == connection; };
  return std::erase_if(watched_, is_it) + std::erase_if(unwatched_, is_it) > 0;
}

std::vector<ConnectionPtr> IdleConnections::TakeExpired(Instant now) {
  std::vector<ConnectionPtr> expired;
  for (std::deque<Idle>* const from : {&watched_, &unwatched_}) {
    while (!from->empty() && from->front().since + timeout_ <= now) {
      expired.push_back(std::move(from->front().connection));
      from->pop_front();
    }
  }
  return expired;
}

std::vector<ConnectionPtr> IdleConnections::TakeAll() {
  std::vector<ConnectionPtr> all;
  for (std::deque<Idle>* const from : {&watched_, &unwatched_}) {
    for (Idle& each : *from) all.push_back(std::move(each.connection));
    from->clear();
  }
  return all;
}

Instant IdleConnections::next_expiry() const {
  Instant next{INT64_MAX};
  for (const std::deque<Idle>* const from : {&watched_, &unwatched_}) {
    if (!from->empty()) next = std::min(next, from->front().since + timeout_);
  }
  return next;
}

}  // namespace weir::internal
