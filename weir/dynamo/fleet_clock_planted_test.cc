// The simulation of clocks finds each bug that it exists for: each is planted in the requests of
// the hosts, or in the responses to them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "weir/dynamo/bucket_ahead.h"
#include "weir/dynamo/bucket_call.h"
#include "weir/dynamo/fleet_clock_oracle_fixture.h"

namespace weir::dynamo {
namespace {

using nlohmann::json;
using std::chrono::hours;

constexpr std::uint64_t kPlantedFleetSeeds = 6;

std::int64_t NumberOf(const json& value) { return std::stoll(value.at("N").get<std::string>()); }

// Every item of a response, with its `rf`.
void ForEachItem(json& node, const std::function<void(json&, UnixMillis)>& act) {
  if (!node.is_structured()) return;
  if (node.is_object() && node.contains("rf")) return act(node, {NumberOf(node["rf"])});
  for (json& child : node) ForEachItem(child, act);
}

// A write that sets `rf` to less than it requires.
struct SetBackWrite {
  json& body;
  std::string name;  // placeholder of rf
  std::string seen;  // of the value that is required
};

std::string PlaceholderOf(const json& body, const std::string& attribute) {
  if (!body.contains("ExpressionAttributeNames")) return "";
  for (const auto& [placeholder, name] : body["ExpressionAttributeNames"].items()) {
    if (name == attribute) return placeholder;
  }
  return "";
}

// The value's placeholder that follows `text` in an expression.
std::string ValueAfter(const json& body, const char* expression, const std::string& text) {
  if (!body.contains(expression)) return "";
  const std::string& in = body[expression].get_ref<const std::string&>();
  const std::size_t at = in.find(text);
  if (at == std::string::npos) return "";
  const std::size_t from = at + text.size();
  return in.substr(from, in.find_first_of(", )", from) - from);
}

std::optional<SetBackWrite> AsSetBack(json& body) {
  const std::string name = PlaceholderOf(body, "rf");
  if (name.empty()) return std::nullopt;
  const std::string seen = ValueAfter(body, "ConditionExpression", name + " = ");
  const std::string set = ValueAfter(body, "UpdateExpression", name + " = ");
  if (seen.empty() || set.empty()) return std::nullopt;
  const json& values = body["ExpressionAttributeValues"];
  if (NumberOf(values[set]) >= NumberOf(values[seen])) return std::nullopt;
  return SetBackWrite{body, name, seen};
}

// Each host sees the minute as over.
void SeesTheMinuteOver(json& body, UnixMillis now) {
  ForEachItem(body, [now](json& item, UnixMillis rf) {
    if (!IsFarAhead(rf, now)) return;
    item[std::string(kAhead)]["S"] = FormatAhead({rf, now - kUnmovedFor - milliseconds(2'000)});
  });
}

// Each host sees the minute as just begun.
void SeesTheMinuteBegin(json& body, UnixMillis now) {
  ForEachItem(body, [now](json& item, UnixMillis rf) {
    if (!item.contains(std::string(kAhead))) return;
    item[std::string(kAhead)]["S"] = FormatAhead({rf, now - milliseconds(10'000)});
  });
}

// The write that sets a time back does not require that it has not moved.
void SetsBackUnconditionally(json& body, UnixMillis) {
  const auto write = AsSetBack(body);
  if (!write) return;
  std::string condition = body["ConditionExpression"];
  const std::string required = write->name + " = " + write->seen;
  condition.replace(condition.find(required), required.size(),
                    "attribute_exists(" + write->name + ")");
  body["ConditionExpression"] = condition;
  body["ExpressionAttributeValues"].erase(write->seen);
}

// The write that sets a time back adds half of the capacity.
void RefillsWithTheSetBack(json& body, UnixMillis) {
  if (!AsSetBack(body)) return;
  const std::string tokens = PlaceholderOf(body, "b_rpm_tk");
  const std::string change = ValueAfter(body, "UpdateExpression", tokens + " ");
  if (tokens.empty() || !change.starts_with(':')) return;
  json& values = body["ExpressionAttributeValues"];
  values[":planted"]["N"] = std::to_string(NumberOf(values[change]) + 50'000);
  std::string update = body["UpdateExpression"];
  const std::string added = tokens + " " + change;
  update.replace(update.find(added), added.size(), tokens + " :planted");
  body["UpdateExpression"] = update;
  const std::string rest = update + " " + body["ConditionExpression"].get<std::string>() + " ";
  const bool is_used = rest.find(change + " ") != std::string::npos ||
                       rest.find(change + ",") != std::string::npos ||
                       rest.find(change + ")") != std::string::npos;
  if (!is_used) values.erase(change);
}

std::optional<std::string> FirstBroken(const PlantedClockBug& bug) {
  constexpr milliseconds kTrip{30};
  for (std::uint64_t seed = 1; seed <= kPlantedFleetSeeds; ++seed) {
    const ClockFleetTerms terms{.hosts = {hours(1), milliseconds(0), hours(-1)},
                                .foreign = hours(1),
                                .faults = {.longest_trip = kTrip},
                                .bug = bug};
    const ClockVerdict verdict =
        JudgeClockFleet(RunClockFleet(seed, terms), kDatedAnewAfter + 2 * kTrip);
    if (!verdict.broken.empty()) return verdict.broken.front();
  }
  return std::nullopt;
}

TEST(FleetClockPlanted, C4AFleetWithoutABugKeepsItsPromises) {
  EXPECT_EQ(FirstBroken({.name = "none",
                         .request = [](json&, UnixMillis) {},
                         .response = [](json&, UnixMillis) {}}),
            std::nullopt);
}

struct PlantedFor {
  PlantedClockBug bug;
  std::string promise;  ///< a part of the message of what it breaks
};

TEST(FleetClockPlanted, C4EachBugIsFound) {
  const std::vector<PlantedFor> bugs{
      {{.name = "sets back at once", .request = {}, .response = SeesTheMinuteOver}, "alive"},
      {{.name = "sets back unconditionally", .request = SetsBackUnconditionally, .response = {}},
       "alive"},
      {{.name = "refills with it", .request = RefillsWithTheSetBack, .response = {}}, "refilled"},
      {{.name = "never sets back", .request = {}, .response = SeesTheMinuteBegin}, "true time"}};
  for (const auto& [bug, promise] : bugs) {
    const std::optional<std::string> broken = FirstBroken(bug);
    ASSERT_TRUE(broken) << "not found: a host that " << bug.name;
    EXPECT_NE(broken->find(promise), std::string::npos) << bug.name << ": " << *broken;
  }
}

}  // namespace
}  // namespace weir::dynamo
