// Whether a service answers: what a command that waits for one tells its user.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "weir/aws/json_client.h"
#include "weir/base/mutex.h"
#include "weir/base/time.h"

namespace weir::app {

/// Passes calls on and notes when the service answered. Thread-safe.
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
    bool always = false;    ///< it never answered
  };
  /// Nothing while no call waits, or the service answers.
  std::optional<Silence> Look() const;
  const std::string& name() const { return name_; }

 private:
  void OnAnswer(bool answered, std::string cause);

  JsonClient& client_;
  const Clock& clock_;
  const std::string name_;
  mutable Mutex mutex_;
  std::optional<Instant> silent_since_ WEIR_GUARDED_BY(mutex_);
  std::string cause_ WEIR_GUARDED_BY(mutex_);
  bool answered_ WEIR_GUARDED_BY(mutex_) = false;
};

}  // namespace weir::app
