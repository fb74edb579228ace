// Functions that make rules and events for tests.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "weir/events/event_rules.h"

namespace weir {

inline constexpr UnixMillis kNow{1'767'225'600'013};

inline EventRules Rules(std::string_view text) {
  auto rules = ReadEventRules(text, "f.yaml");
  EXPECT_TRUE(rules.has_value()) << rules.error().message;
  return rules ? *std::move(rules) : EventRules{};
}

/// Returns the rule for clusters of EMR, with additional lines, each indented by four.
inline EventRules ClusterRule(std::string_view lines = "") {
  return Rules(fmt::format("rules:\n  - source: aws.emr\n    id: detail.clusterId\n{}", lines));
}

/// Returns the id of the resource that the event reports as ended; empty if it reports none.
inline std::string EndedId(const EventRules& rules, std::string_view event) {
  const auto matched = MatchEvent(rules, event, kNow);
  EXPECT_TRUE(matched.has_value()) << matched.error().message;
  return matched && matched->ended ? matched->ended->resource_id : "";
}

/// Returns an event of EMR about this cluster, with additional members of its detail.
inline std::string ClusterEvent(std::string_view id, std::string_view members = "") {
  return fmt::format(
      R"({{"source":"aws.emr","detail-type":"EMR Cluster State Change","detail":{{"clusterId":"{}"{}{}}}}})",
      id, members.empty() ? "" : ",", members);
}

}  // namespace weir
