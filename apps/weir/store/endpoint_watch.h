// Detects whether a service responds, for commands that report a service that does not.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "weir/aws/json_client.h"
#include "weir/base/mutex.h"
#include "weir/base/time.h"

namespace weir::app {

/// Passes calls on and records when the service responded. An error of the server itself (5xx) does
/// not count as a response. Thread-safe.
class EndpointWatch final : public JsonClient {
 public:
  /// Client and clock must outlive this object, and this object must outlive its calls. `name` is
  /// the endpoint's name in messages.
  EndpointWatch(JsonClient& client, const Clock& clock, std::string name)
      : client_(client), clock_(clock), name_(std::move(name)) {}

  void Call(JsonCall call, Deadline deadline, JsonDone done) override;
  JsonClientStats stats() const override { return client_.stats(); }

  struct Silence {
    nanoseconds length{0};  ///< since the first call after the last response
    std::string cause;      ///< of the last failed call; empty if none has failed
    bool always = false;    ///< the service has never responded, not even with an error
    bool erring = false;    ///< the last failed call got an error of the server itself
  };
  /// Returns nothing before the first call, and from a response until the next call.
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
