// Tracks whether a service responds, so that commands can report one that does not.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "weir/aws/json_client.h"
#include "weir/base/mutex.h"
#include "weir/base/time.h"

namespace weir::app {

/// The longest pause between retries by any caller: equals longest_backoff of
/// weir/kinesis/shards/shard_map.h.
inline constexpr std::chrono::seconds kLongestRetryDelay{30};

/// Forwards calls and records when the service responded. A server error (5xx) does not count as a
/// response. Thread-safe.
class EndpointWatch final : public JsonClient {
 public:
  /// Client and clock must outlive this object, and this object must outlive its calls. `name` is
  /// the endpoint's name in messages.
  EndpointWatch(JsonClient& client, const Clock& clock, std::string name)
      : client_(client), clock_(clock), name_(std::move(name)) {}

  void Call(JsonCall call, Deadline deadline, JsonDone done) override;
  JsonClientStats stats() const override { return client_.stats(); }

  /// A time in which the service has not responded.
  struct Outage {
    /// Starts at the last response if calls were pending at that moment, otherwise at the next
    /// call. While no call is pending, it stops growing kLongestRetryDelay after the last failure.
    /// A call after a longer idle time starts a new outage.
    nanoseconds length{0};
    std::string cause;  ///< the cause of the last failure; empty if none since the last response
    bool never_reached = false;  ///< there was no HTTP response of any kind, not even a 5xx
    bool server_error = false;   ///< the last completed call got a server error (5xx)
  };
  /// Returns nothing if there was no call yet, or if the last call got a response and no other call
  /// was pending then.
  std::optional<Outage> CurrentOutage() const;
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
  bool server_error_ WEIR_GUARDED_BY(mutex_) = false;
  bool reached_ WEIR_GUARDED_BY(mutex_) = false;
};

}  // namespace weir::app
