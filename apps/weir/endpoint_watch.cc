#include "apps/weir/endpoint_watch.h"

#include <utility>

namespace weir::app {

void EndpointWatch::Call(JsonCall call, Deadline deadline, JsonDone done) {
  {
    const MutexLock lock(mutex_);
    if (!silent_since_) silent_since_ = clock_.Now();
  }
  client_.Call(std::move(call), deadline,
               [this, done = std::move(done)](tl::expected<JsonReply, AwsFailure> reply) mutable {
                 // A refusal is an answer of the service too.
                 const bool answered = reply || reply.error().http_status != 0;
                 OnAnswer(answered, answered ? "" : reply.error().message);
                 done(std::move(reply));
               });
}

void EndpointWatch::OnAnswer(bool answered, std::string cause) {
  const MutexLock lock(mutex_);
  cause_ = std::move(cause);
  if (!answered) return;
  answered_ = true;
  silent_since_.reset();
}

std::optional<EndpointWatch::Silence> EndpointWatch::Look() const {
  const MutexLock lock(mutex_);
  if (!silent_since_) return std::nullopt;
  return Silence{clock_.Now() - *silent_since_, cause_, !answered_};
}

}  // namespace weir::app
