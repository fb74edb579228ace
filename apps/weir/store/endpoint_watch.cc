#include "apps/weir/store/endpoint_watch.h"

#include <algorithm>
#include <utility>

namespace weir::app {
namespace {

constexpr int kOk = 200;
constexpr int kServerError = 500;

}  // namespace

void EndpointWatch::Call(JsonCall call, Deadline deadline, JsonDone done) {
  OnCall();
  client_.Call(std::move(call), deadline,
               [this, done = std::move(done)](tl::expected<JsonReply, AwsFailure> reply) mutable {
                 OnReply(reply ? kOk : reply.error().http_status,
                         reply ? "" : reply.error().message);
                 done(std::move(reply));
               });
}

void EndpointWatch::OnCall() {
  const MutexLock lock(mutex_);
  const Instant now = clock_.Now();
  const bool was_idle = pending_++ == 0 && now - last_failure_ > kLongestRetryDelay;
  if (!silent_since_ || was_idle) silent_since_ = now;
}

// Status 0: no response.
void EndpointWatch::OnReply(int http_status, std::string cause) {
  const MutexLock lock(mutex_);
  reached_ = reached_ || http_status != 0;
  server_error_ = http_status >= kServerError;
  // A refusal is a response of the service too.
  const bool has_responded = http_status != 0 && !server_error_;
  cause_ = has_responded ? "" : std::move(cause);
  const Instant now = clock_.Now();
  --pending_;
  if (!has_responded) {
    last_failure_ = now;
  } else if (pending_ > 0) {
    silent_since_ = now;
  } else {
    silent_since_.reset();
  }
}

std::optional<EndpointWatch::Outage> EndpointWatch::CurrentOutage() const {
  const MutexLock lock(mutex_);
  if (!silent_since_) return std::nullopt;
  const Instant now = clock_.Now();
  const Instant end = pending_ > 0 ? now : std::min(now, last_failure_ + kLongestRetryDelay);
  return Outage{end - *silent_since_, cause_, !reached_, server_error_};
}

}  // namespace weir::app
