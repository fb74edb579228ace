// Whether a service answers: what a command that waits for one tells its user.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "weir/aws/json_client.h"
#include "weir/base/mutex.h"
#include "weir/base/time.h"

namespace weir::app {

/// Passes calls on and notes when the service answered; an error of the server's own (5xx) ends no
/// silence. Thread-safe.
class EndpointWatch final : public JsonClient {
 public:
  /// Both must outlive it, and it must outlive its calls. `name`: of the endpoint, for messages.
  EndpointWatch(JsonClient& client, const Clock& clock, std::string name)
      : client_(client), clock_(clock), name_(std::move(name)) {}

  void Call(JsonCall call, Deadline deadline, JsonDone done) override;
  JsonClientStats stats() const override { return client_.stats(); }

  struct Silence {
    nanoseconds length{0};  ///< since calls wait and the service answered none of them
    std::string cause;      ///< of the last call that failed in it; empty: none has
    bool always = false;    ///< it never answered, not even with an error
    bool erring = false;    ///< the last call that failed got an error of the server's own
  };
  /// Nothing while no call waits, or the service answers.
  std::optional<Silence> Look() const;
  const std::string& name() const { return name_; }

 private:
  void OnAnswer(int http_status, std::string cause);

  JsonClient& client_;
  const Clock& clock_;
  const std::string name_;
  mutable Mutex mutex_;
  std::optional<Instant> silent_since_ WEIR_GUARDED_BY(mutex_);
  std::string cause_ WEIR_GUARDED_BY(mutex_);
  bool erring_ WEIR_GUARDED_BY(mutex_) = false;
  bool reached_ WEIR_GUARDED_BY(mutex_) = false;
};

}  // namespace weir::app
