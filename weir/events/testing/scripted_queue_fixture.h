// Test support: an SQS queue as its clients see it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/aws/json_client.h"
#include "weir/base/rng.h"
#include "weir/runtime/scheduler.h"

namespace weir {

/// Probabilities of faults, drawn once for each call or event.
struct QueueFaults {
  double refuse = 0;            ///< a call fails without an effect
  double lose_response = 0;     ///< a call has its effect, but fails
  double duplicate = 0;         ///< an event arrives in two messages
  nanoseconds longest_delay{0}; /**< each message arrives after a time up to this, so that messages
                                     overtake each other */
};

/// The number of faults of each kind.
struct QueueCounts {
  std::uint64_t refused = 0;
  std::uint64_t lost_responses = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t reordered = 0;  ///< messages that arrived after one that was sent later
};

/// A reception of a message.
struct QueueDelivery {
  std::string body;
  UnixMillis visible;    ///< from this time on it could be received
  UnixMillis delivered;  ///< the start of its visibility timeout
};

/// A standard queue: a received message is hidden for its visibility timeout, and is then received
/// again with another receipt, unless it was deleted. A message that was received too often becomes
/// a dead letter. A call to receive from an empty queue waits. Not thread-safe. The scheduler must
/// outlive it.
class ScriptedQueue final : public JsonClient {
 public:
  explicit ScriptedQueue(Scheduler& scheduler, std::uint64_t seed = 1)
      : scheduler_(scheduler), rng_(seed) {}
  ~ScriptedQueue() override;

  void Send(const std::string& body);
  /// Makes the nth call from now on (the first is 1) fail. If `lost`, the call has its effect.
  void FailAt(std::size_t nth, bool lost) { fault_ = {calls.size() + nth, lost}; }
  /// Makes all calls from now on fail with this failure.
  void FailAlways(AwsFailure failure) { broken_ = std::move(failure); }
  std::size_t size() const { return messages_.size(); }
  /// Returns the number of messages that could be received now.
  std::size_t visible() const;
  /// Returns the highest number of receptions of one message.
  int max_receives() const { return max_receives_; }

  void Call(JsonCall call, Deadline deadline, JsonDone done) override;

  std::string url = "https://h/1/q";
  /// The maximum number of deliveries of a message, which is a dead letter after these.
  int max_deliveries = 1'000;
  QueueFaults faults;  ///< may be changed between calls
  QueueCounts counts;
  std::vector<std::string> dead_letters;
  std::vector<std::string> calls;
  std::vector<QueueDelivery> deliveries;
  std::vector<std::string> misuses;  ///< invalid calls; tests expect none

 private:
  enum class Fate { kDone, kRefused, kLost };
  struct Message {
    std::string body;
    UnixMillis sent;
    Instant visible{};
    int receives = 0;
  };
  /// A call to receive that waits for a message.
  struct Receiving {
    std::string body;
    Instant until;
    Fate fate;
    JsonDone done;
  };

  Instant Now() const { return scheduler_.clock().Now(); }
  /// Decides whether the present call fails.
  Fate DrawFate();
  void Arrive(std::string body, std::uint64_t order);
  void Receive(Receiving call);
  /// Delivers the visible messages; returns the body of the response.
  std::string TakeMessages(const std::string& body);
  /// Completes the waiting calls for which there are messages or whose wait is over.
  void Serve();
  /// Sets the timer for the next Serve.
  void Arm();
  void Respond(std::string response, Fate fate, JsonDone done);
  std::string ChangeEach(const JsonCall& call);
  std::map<int, Message>::iterator FindReceipt(const std::string& receipt);

  Scheduler& scheduler_;
  Rng rng_;
  std::map<int, Message> messages_;
  std::vector<Receiving> receiving_;
  std::optional<TimerId> timer_;
  int last_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t latest_arrival_ = 0;
  int max_receives_ = 0;
  std::optional<AwsFailure> broken_;
  std::pair<std::size_t, bool> fault_{0, false};
};

}  // namespace weir
