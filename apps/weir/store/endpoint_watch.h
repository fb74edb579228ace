// Detects whether a service responds, for commands that report a service that does not.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "weir/aws/json_client.h"
#include "weir/base/mutex.h"
#include "weir/base/time.h"

namespace weir::app {

/// A caller that repeats failed calls pauses for at most this time: longest_backoff of
/// weir/kinesis/pipeline/shard_map.h.
inline constexpr std::chrono::seconds kLongestRetryDelay{30};

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
    /// Since the last response, or since the first call after it if no call was pending then. A
    /// pause between calls counts up to kLongestRetryDelay after the last failure; the first call
    /// after a longer pause begins a new silence.
    nanoseconds length{0};
    std::string cause;    ///< of the last failed call; empty if none has failed
    bool always = false;  ///< the service has never responded, not even with an error
    bool erring = false;  ///< the last failed call got an error of the server itself
  };
  /// Returns nothing if the last call got a response and no other call was pending.
  std::optional<Silence> Look() const;
  const std::string& name() const { return name_; }

 private:
  void OnCall();
  void OnReply(int http_status, std::string cause);

  JsonClient& client_;
  const Clock& clock_;
  const std::string name_;
  mutable Mutex mutex_;
  std::size_t pending_ WEIR_GUARDED_BY(mutex_) = 0;
  std::optional<Instant> silent_since_ WEIR_GUARDED_BY(mutex_);
  Instant last_failure_ WEIR_GUARDED_BY(mutex_);
  std::string cause_ WEIR_GUARDED_BY(mutex_);
  bool erring_ WEIR_GUARDED_BY(mutex_) = false;
  bool reached_ WEIR_GUARDED_BY(mutex_) = false;
};

}  // namespace weir::app
