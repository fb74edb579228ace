// A queue of SQS, as its clients see it. Tests only.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/aws/json_client.h"
#include "weir/runtime/scheduler.h"

namespace weir {

/// A queue: what is received is hidden for a while, and comes again unless it is deleted.
class ScriptedQueue final : public JsonClient {
 public:
  explicit ScriptedQueue(Scheduler& scheduler) : scheduler_(scheduler) {}

  void Send(const std::string& body) { messages_[++last_] = {body, {}}; }
  /// The nth call from now on (the first is 1) fails; where `lost`, the queue did it.
  void FailAt(std::size_t nth, bool lost) { fault_ = {calls.size() + nth, lost}; }
  /// All calls from now on fail so.
  void FailAlways(AwsFailure failure) { broken_ = std::move(failure); }
  std::size_t size() const { return messages_.size(); }

  void Call(JsonCall call, Deadline deadline, JsonDone done) override {
    EXPECT_TRUE(call.repeatable);
    calls.push_back(call.operation);
    const auto asked = json::parse(call.body);
    EXPECT_EQ(asked["QueueUrl"], "https://h/1/q");
    if (broken_) return done(tl::unexpected(*broken_));
    const bool fails = fault_.first == calls.size();
    if (fails && !fault_.second) return Refuse(std::move(done));
    const bool receives = call.operation == "ReceiveMessage";
    json answer = receives ? Received(asked) : Deleted(asked);
    if (fails) return Refuse(std::move(done));
    const bool waits = receives && answer.empty();
    const Instant at =
        Now() + (waits ? nanoseconds(std::chrono::seconds(asked["WaitTimeSeconds"].get<int>()))
                       : nanoseconds(milliseconds(5)));
    EXPECT_LT(at, deadline.at());
    scheduler_.At(at, [done = std::move(done), answer = answer.dump()]() mutable {
      done(JsonReply{.body = std::move(answer)});
    });
  }

  std::vector<std::string> calls;

 private:
  using json = nlohmann::json;

  struct Message {
    std::string body;
    Instant visible;
  };

  Instant Now() const { return scheduler_.clock().Now(); }

  void Refuse(JsonDone done) {
    scheduler_.Post([done = std::move(done)]() mutable {
      done(tl::unexpected(AwsFailure{.kind = FailureClass::kAmbiguous, .message = "no answer"}));
    });
  }
  json Received(const json& asked) {
    json messages = json::array();
    for (auto& [id, message] : messages_) {
      if (message.visible > Now() || messages.size() == asked["MaxNumberOfMessages"]) continue;
      message.visible = Now() + std::chrono::seconds(30);
      const std::string name = std::to_string(id);
      messages.push_back({{"MessageId", name}, {"ReceiptHandle", name}, {"Body", message.body}});
    }
    return messages.empty() ? json::object() : json{{"Messages", messages}};
  }
  json Deleted(const json& asked) {
    json gone = json::array();
    for (const json& entry : asked["Entries"]) {
      messages_.erase(std::stoi(entry["ReceiptHandle"].get<std::string>()));
      gone.push_back({{"Id", entry["Id"]}});
    }
    return {{"Successful", gone}};
  }

  Scheduler& scheduler_;
  std::map<int, Message> messages_;
  int last_ = 0;
  std::optional<AwsFailure> broken_;
  std::pair<std::size_t, bool> fault_{0, false};
};

}  // namespace weir
