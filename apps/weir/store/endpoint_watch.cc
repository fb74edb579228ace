#include "apps/weir/store/endpoint_watch.h"

#include <utility>

namespace weir::app {
namespace {

constexpr int kOk = 200;
constexpr int kServerError = 500;

}  // namespace

void EndpointWatch::Call(JsonCall call, Deadline deadline, JsonDone done) {
  {
    const MutexLock lock(mutex_);
    if (!silent_since_) silent_since_ = clock_.Now();
  }
  client_.Call(std::move(call), deadline,
               [this, done = std::move(done)](tl::expected<JsonReply, AwsFailure> reply) mutable {
                 OnAnswer(reply ? kOk : reply.error().http_status,
                          reply ? "" : reply.error().message);
                 done(std::move(reply));
               });
}

// Status 0: no response.
void EndpointWatch::OnAnswer(int http_status, std::string cause) {
  const MutexLock lock(mutex_);
  reached_ = reached_ || http_status != 0;
  erring_ = http_status >= kServerError;
  // A refusal is a response of the service too.
  const bool answered = http_status != 0 && !erring_;
  cause_ = answered ? "" : std::move(cause);
  if (answered) silent_since_.reset();
}

std::optional<EndpointWatch::Silence> EndpointWatch::Look() const {
  const MutexLock lock(mutex_);
  if (!silent_since_) return std::nullopt;
  return Silence{clock_.Now() - *silent_since_, cause_, !reached_, erring_};
}

}  // namespace weir::app
