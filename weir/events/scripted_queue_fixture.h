// A queue of SQS, as its clients see it. Tests only.
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

/// Probabilities, drawn once for each call or event.
struct QueueFaults {
  double refuse = 0;            ///< a call fails, and the queue did nothing
  double lose_answer = 0;       ///< a call fails, and the queue did it
  double duplicate = 0;         ///< an event arrives in two messages
  nanoseconds longest_delay{0}; /**< each message arrives after a time up to this, so that messages
                                     overtake each other */
};

/// How often each of them happened.
struct QueueCounts {
  std::uint64_t refused = 0;
  std::uint64_t lost_answers = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t reordered = 0;  ///< messages that arrived after one that was sent later
};

/// A reception of a message.
struct QueueDelivery {
  std::string body;
  UnixMillis visible;    ///< since when it could be received
  UnixMillis delivered;  ///< its visibility timeout began
};

/// A standard queue: a received message is hidden for a while, and comes again unless it is
/// deleted, under another receipt. A message that was received too often goes to the dead letters.
/// A call to receive from an empty queue waits. Not thread-safe. The scheduler must outlive it.
class ScriptedQueue final : public JsonClient {
 public:
  explicit ScriptedQueue(Scheduler& scheduler, std::uint64_t seed = 1)
      : scheduler_(scheduler), rng_(seed) {}
  ~ScriptedQueue() override;

  void Send(const std::string& body);
  /// The nth call from now on (the first is 1) fails; where `lost`, the queue did it.
  void FailAt(std::size_t nth, bool lost) { fault_ = {calls.size() + nth, lost}; }
  /// All calls from now on fail so.
  void FailAlways(AwsFailure failure) { broken_ = std::move(failure); }
  std::size_t size() const { return messages_.size(); }
  /// Messages that would be received now.
  std::size_t visible() const;
  /// How often the message that was received most often was.
  int most_receives() const { return most_receives_; }

  void Call(JsonCall call, Deadline deadline, JsonDone done) override;

  std::string url = "https://h/1/q";
  int most_deliveries = 1'000;  ///< of a message; then it is one of the dead letters
  QueueFaults faults;           ///< may be changed between calls
  QueueCounts counts;
  std::vector<std::string> dead_letters;
  std::vector<std::string> calls;
  std::vector<QueueDelivery> deliveries;
  std::vector<std::string> misuses;  ///< calls as no client should make them; a test expects none

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
  Fate DrawFate();
  void Arrive(std::string body, std::uint64_t order);
  void Receive(Receiving call);
  std::string TakeMessages(const std::string& body);
  /// For calls that wait: now, and when something may be there for them.
  void Serve();
  void Arm();
  void Answer(std::string answer, Fate fate, JsonDone done);
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
  int most_receives_ = 0;
  std::optional<AwsFailure> broken_;
  std::pair<std::size_t, bool> fault_{0, false};
};

}  // namespace weir
