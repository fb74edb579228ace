#include "weir/events/testing/scripted_queue_fixture.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weir {
namespace {

using nlohmann::json;

constexpr milliseconds kQueueTrip{5};

/// Returns the receipt of a message's latest delivery. A receipt of an earlier delivery has no
/// effect.
std::string ReceiptOf(int id, int receives) {
  return std::to_string(id) + "/" + std::to_string(receives);
}

}  // namespace

ScriptedQueue::~ScriptedQueue() {
  if (timer_) scheduler_.Cancel(*timer_);
}

std::size_t ScriptedQueue::visible() const {
  std::size_t count = 0;
  for (const auto& [id, message] : messages_) count += message.visible <= Now() ? 1U : 0U;
  return count;
}

void ScriptedQueue::Send(const std::string& body) {
  const bool twice = rng_.Chance(faults.duplicate);
  if (twice) ++counts.duplicates;
  for (int copies = twice ? 2 : 1; copies > 0; --copies) {
    const std::uint64_t order = ++sent_;
    const nanoseconds delay(rng_.Between(0, faults.longest_delay.count()));
    if (delay == nanoseconds(0)) {
      Arrive(body, order);
    } else {
      scheduler_.At(Now() + delay, [this, body, order] { Arrive(body, order); });
    }
  }
}

void ScriptedQueue::Arrive(std::string body, std::uint64_t order) {
  if (order < latest_arrival_) ++counts.reordered;
  latest_arrival_ = std::max(latest_arrival_, order);
  messages_[++last_] = {
      .body = std::move(body), .sent = scheduler_.clock().WallNow(), .visible = Now()};
  Serve();
}

ScriptedQueue::Fate ScriptedQueue::DrawFate() {
  const double dice = rng_.Unit();
  const bool is_scripted = fault_.first == calls.size();
  if (is_scripted) return fault_.second ? Fate::kLost : Fate::kRefused;
  if (dice < faults.refuse) return Fate::kRefused;
  return dice < faults.refuse + faults.lose_response ? Fate::kLost : Fate::kDone;
}

void ScriptedQueue::Call(JsonCall call, Deadline deadline, JsonDone done) {
  if (!call.repeatable) misuses.push_back(call.operation + " is not repeatable");
  calls.push_back(call.operation);
  const json asked = json::parse(call.body);
  if (asked["QueueUrl"] != url) misuses.push_back("another queue: " + call.body);
  if (broken_) return done(tl::unexpected(*broken_));
  const Fate fate = DrawFate();
  if (fate == Fate::kRefused) return Respond({}, fate, std::move(done));
  if (call.operation != "ReceiveMessage") return Respond(ChangeEach(call), fate, std::move(done));
  const Instant end = Now() + std::chrono::seconds(asked["WaitTimeSeconds"].get<int>());
  if (end >= deadline.at()) misuses.emplace_back("a wait beyond the deadline of its call");
  Receive({std::move(call.body), end + -kQueueTrip, fate, std::move(done)});
  Arm();
}

void ScriptedQueue::Respond(std::string response, Fate fate, JsonDone done) {
  if (fate == Fate::kRefused) ++counts.refused;
  if (fate == Fate::kLost) ++counts.lost_responses;
  if (fate != Fate::kDone) {
    return scheduler_.Post([done = std::move(done)]() mutable {
      done(tl::unexpected(AwsFailure{.kind = FailureClass::kAmbiguous, .message = "no answer"}));
    });
  }
  scheduler_.At(Now() + kQueueTrip,
                [done = std::move(done), response = std::move(response)]() mutable {
                  done(JsonReply{.body = std::move(response)});
                });
}

void ScriptedQueue::Receive(Receiving call) {
  const bool has_message = visible() > 0;
  if (!has_message && Now() < call.until) return receiving_.push_back(std::move(call));
  std::string response = has_message ? TakeMessages(call.body) : "{}";
  Respond(std::move(response), call.fate, std::move(call.done));
}

void ScriptedQueue::Serve() {
  for (Receiving& call : std::exchange(receiving_, {})) Receive(std::move(call));
  Arm();
}

void ScriptedQueue::Arm() {
  if (timer_) scheduler_.Cancel(*timer_);
  timer_.reset();
  if (receiving_.empty()) return;
  Instant next = std::ranges::min_element(receiving_, {}, &Receiving::until)->until;
  for (const auto& [id, message] : messages_) next = std::min(next, message.visible);
  timer_ = scheduler_.At(next, [this] {
    timer_.reset();
    Serve();
  });
}

std::string ScriptedQueue::TakeMessages(const std::string& body) {
  const json asked = json::parse(body);
  json messages = json::array();
  for (auto at = messages_.begin(); at != messages_.end();) {
    auto& [id, message] = *at++;
    if (message.visible > Now() || messages.size() == asked["MaxNumberOfMessages"]) continue;
    if (message.receives == max_deliveries) {
      dead_letters.push_back(message.body);
      messages_.erase(id);
      continue;
    }
    const UnixMillis wall = scheduler_.clock().WallNow();
    const auto age = std::chrono::floor<milliseconds>(Now() - message.visible);
    deliveries.push_back({.body = message.body, .visible = wall - age, .delivered = wall});
    message.visible = Now() + std::chrono::seconds(asked["VisibilityTimeout"].get<int>());
    max_receives_ = std::max(max_receives_, ++message.receives);
    messages.push_back({{"MessageId", std::to_string(id)},
                        {"ReceiptHandle", ReceiptOf(id, message.receives)},
                        {"Attributes", {{"SentTimestamp", std::to_string(message.sent.value)}}},
                        {"Body", message.body}});
  }
  return messages.empty() ? "{}" : json{{"Messages", messages}}.dump();
}

std::map<int, ScriptedQueue::Message>::iterator ScriptedQueue::FindReceipt(
    const std::string& receipt) {
  const auto at = messages_.find(std::stoi(receipt));
  if (at == messages_.end()) return at;
  return ReceiptOf(at->first, at->second.receives) == receipt ? at : messages_.end();
}

/// Deletes or hides each message of a batch.
std::string ScriptedQueue::ChangeEach(const JsonCall& call) {
  json done = json::array();
  json failed = json::array();
  const json asked = json::parse(call.body);
  for (const json& entry : asked["Entries"]) {
    json result = {{"Id", entry["Id"]}};
    const auto at = FindReceipt(entry["ReceiptHandle"].get<std::string>());
    if (at == messages_.end()) {
      result.update({{"Code", "ReceiptHandleIsInvalid"}, {"Message", "gone"}});
      failed.push_back(std::move(result));
      continue;
    }
    if (call.operation == "DeleteMessageBatch") {
      messages_.erase(at);
    } else {
      const std::chrono::seconds hidden(entry["VisibilityTimeout"].get<int>());
      at->second.visible = Now() + hidden;
    }
    done.push_back(std::move(result));
  }
  Arm();
  return json{{"Successful", done}, {"Failed", failed}}.dump();
}

}  // namespace weir
