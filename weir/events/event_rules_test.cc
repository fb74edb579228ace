// The resources that events report as ended, by the rules of a file.
#include "weir/events/event_rules.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "weir/events/event_json.h"
#include "weir/events/testing/event_rules_fixture.h"
#include "weir/store/reservation/reservation_checks.h"

namespace weir {
namespace {

constexpr std::string_view kTerminated = R"("state":"TERMINATED")";

Code CodeOf(std::string_view event) {
  const auto matched = MatchEvent(ClusterRule(), event, kNow);
  return matched ? Code{} : matched.error().code;
}

TEST(EventRules, AnEventWithoutConditionsEndsItsResource) {
  EXPECT_EQ(EndedId(ClusterRule(), ClusterEvent("j-1YONHTCP3YZKC")), "j-1YONHTCP3YZKC");
}

TEST(EventRules, AnIdIsATextOrANumber) {
  const auto id_of = [](const std::string& value) {
    const auto event = fmt::format(R"({{"source":"aws.emr","detail":{{"clusterId":{}}}}})", value);
    return EndedId(ClusterRule(), event);
  };
  EXPECT_EQ(id_of("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(id_of("0"), "0");
  for (const char* none : {R"("")", "null", "true", "{}", "[]", R"(["j-1"])"}) {
    EXPECT_EQ(id_of(none), "") << none;
  }
}

// R15. Fails if: an event is matched although the store refuses its id, or refused although the
// store accepts it.
TEST(EventRules, R15AnIdIsWhatAStoreTakes) {
  for (const std::string& id : {std::string(1024, 'a'), std::string(1025, 'a'),
                                std::string(2048, 'a'), std::string(R"(j\u0000)")}) {
    const auto matched = MatchEvent(ClusterRule(), ClusterEvent(id), kNow);
    if (id.size() == 1024U) {
      ASSERT_TRUE(matched);
      ASSERT_TRUE(matched->ended);
      EXPECT_TRUE(CheckResourceId(matched->ended->resource_id));
      continue;
    }
    ASSERT_FALSE(matched) << id.size();
    EXPECT_EQ(matched.error().code, Code::kInvalidArgument);
    EXPECT_NE(matched.error().message.find("resource id"), std::string::npos);
    EXPECT_NE(matched.error().message.find("expected 1 to 1024 bytes"), std::string::npos);
  }
}

TEST(EventRules, AnEventWithoutTheIdEndsNothing) {
  EXPECT_EQ(EndedId(ClusterRule(), R"({"source":"aws.emr"})"), "");
  EXPECT_EQ(EndedId(ClusterRule(), R"({"source":"aws.emr","detail":"j-1"})"), "");
}

// Fails if: a rule with a typing error in its id's path is silent, or a rule that does not apply
// for another reason is named.
TEST(EventRules, TheRuleWhoseIdIsMissingIsNamed) {
  const EventRules rules = Rules(
      "rules:\n"
      "  - {source: aws.emr, id: detail.clusterId, pattern: {detail.state: [TERMINATED]}}\n"
      "  - {source: aws.emr, id: detail.clusterID}\n"
      "  - {source: aws.emr, id: detail.jobId}\n");
  const auto without_id = [&](std::string_view event) {
    const auto matched = MatchEvent(rules, event, kNow);
    return matched ? matched->without_id : std::nullopt;
  };
  EXPECT_EQ(without_id(ClusterEvent("j-1")), 1U);
  EXPECT_EQ(without_id(ClusterEvent("j-1", kTerminated)), std::nullopt);
  EXPECT_EQ(without_id(R"({"source":"aws.emr","detail":{"jobId":1}})"), std::nullopt);
  EXPECT_EQ(without_id(R"({"source":"aws.ec2"})"), std::nullopt);
}

TEST(EventRules, AnEventOfAnotherSourceEndsNothing) {
  EXPECT_EQ(EndedId(ClusterRule(), R"({"source":"aws.ec2","detail":{"clusterId":"j-1"}})"), "");
}

TEST(EventRules, WhatIsNoEventIsRefused) {
  for (const char* text : {"", "x", "5", "[]", "{}", R"({"source":""})", R"({"source":5})",
                           R"({"source":"aws.emr"})x", R"({"detail":{"clusterId":"j-1"}})"}) {
    EXPECT_EQ(CodeOf(text), Code::kInvalidArgument) << text;
  }
}

TEST(EventRules, EventsAreBounded) {
  const auto nested = [](int levels) {
    return R"({"source":"aws.emr","a":)" + std::string(static_cast<std::size_t>(levels), '[') +
           std::string(static_cast<std::size_t>(levels), ']') + "}";
  };
  EXPECT_EQ(CodeOf(nested(kMaxEventDepth - 1)), Code{});
  EXPECT_EQ(CodeOf(nested(kMaxEventDepth + 1)), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(nested(100'000)), Code::kInvalidArgument);
  std::string large = ClusterEvent("j-1");
  large.resize(kMaxEventBytes, ' ');
  EXPECT_EQ(CodeOf(large), Code{});
  EXPECT_EQ(CodeOf(large + " "), Code::kInvalidArgument);
}

TEST(EventRules, ANotificationIsUnwrapped) {
  const std::string envelope =
      R"({"Type":"Notification","Message":"{\"source\":\"aws.emr\",\"detail\":{\"clusterId\":\"j-1\"}}"})";
  EXPECT_EQ(EndedId(ClusterRule(), envelope), "j-1");
  EXPECT_EQ(CodeOf(R"({"Type":"Notification","Message":"hello"})"), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(R"({"Type":"SubscriptionConfirmation","Message":"{}"})"),
            Code::kInvalidArgument);
}

TEST(EventRules, TheDetailTypeGoesBeforeTheSourceAlone) {
  const EventRules rules = Rules(R"(
rules:
  - {source: aws.emr, id: detail.any}
  - {source: aws.emr, detail-type: EMR Step Status Change, id: detail.step}
)");
  const auto event = [](const char* type) {
    return fmt::format(
        R"({{"source":"aws.emr","detail-type":"{}","detail":{{"any":"a","step":"s"}}}})", type);
  };
  EXPECT_EQ(EndedId(rules, event("EMR Step Status Change")), "s");
  EXPECT_EQ(EndedId(rules, event("emrstepstatus CHANGE")), "s") << "blanks and case do not count";
  EXPECT_EQ(EndedId(rules, event("EMR Cluster State Change")), "a");
  EXPECT_EQ(EndedId(rules, R"({"source":"aws.emr","detail":{"any":"a"}})"), "a");
}

TEST(EventRules, WhereTheDetailTypeHasARuleOthersAreNotAsked) {
  const EventRules rules = Rules(R"(
rules:
  - {source: aws.emr, id: detail.any}
  - {source: aws.emr, detail-type: T, id: detail.step, pattern: {detail.state: [DONE]}}
)");
  EXPECT_EQ(EndedId(rules, R"({"source":"aws.emr","detail-type":"T","detail":{"any":"a"}})"), "");
}

TEST(EventRules, OfSeveralTheFirstThatHoldsCounts) {
  const EventRules rules = Rules(R"(
rules:
  - {source: s, id: first, pattern: {state: [A]}}
  - {source: s, id: second}
  - {source: s, id: third}
)");
  EXPECT_EQ(EndedId(rules, R"({"source":"s","state":"A","first":"1","second":"2"})"), "1");
  EXPECT_EQ(EndedId(rules, R"({"source":"s","state":"B","first":"1","second":"2"})"), "2");
  EXPECT_EQ(EndedId(rules, R"({"source":"s","state":"A","third":"3"})"), "3");
}

TEST(EventRules, PatternAndPredicateMustBothHold) {
  const EventRules rules = ClusterRule(
      "    pattern: {detail.state: [TERMINATED]}\n"
      "    when: {path: detail.name, equals: job}\n");
  EXPECT_EQ(EndedId(rules, ClusterEvent("j", R"("state":"TERMINATED","name":"job")")), "j");
  EXPECT_EQ(EndedId(rules, ClusterEvent("j", R"("state":"TERMINATED","name":"x")")), "");
  EXPECT_EQ(EndedId(rules, ClusterEvent("j", R"("state":"RUNNING","name":"job")")), "");
}

// Fails if: EventRule::extra_test has no effect, or gets the envelope.
TEST(EventRules, AProgramMayTestTheEventToo) {
  EventRules rules = ClusterRule();
  std::string seen;
  rules.rules[0].extra_test = [&seen](std::string_view event) {
    seen = event;
    return event.find("debugging") == std::string_view::npos;
  };
  EXPECT_EQ(EndedId(rules, ClusterEvent("j-1")), "j-1");
  EXPECT_EQ(EndedId(rules, ClusterEvent("j-1", R"("name":"debugging")")), "");
  const std::string message = nlohmann::json(ClusterEvent("j-2")).dump();
  EXPECT_EQ(EndedId(rules, R"({"Type":"Notification","Message":)" + message + "}"), "j-2");
  EXPECT_EQ(nlohmann::json::parse(seen), nlohmann::json::parse(ClusterEvent("j-2")));
}

// The cases of rate-limiter-py's own tests: a string, a number, another value, a missing path.
TEST(EventRules, PredicatesOfRateLimiterPy) {
  const auto ends = [](const char* when, std::string_view members) {
    return EndedId(ClusterRule(fmt::format("    when: {}\n", when)), ClusterEvent("j", members)) ==
           "j";
  };
  EXPECT_TRUE(ends("{path: detail.state, equals: TERMINATED}", kTerminated));
  EXPECT_FALSE(ends("{path: detail.state, equals: RUNNING}", kTerminated));
  EXPECT_FALSE(ends("{path: detail.nowhere, equals: TERMINATED}", kTerminated));
  EXPECT_FALSE(ends("{path: detail.state.more, equals: TERMINATED}", kTerminated));
  EXPECT_TRUE(ends("{path: detail.size, equals: 5}", R"("size":5)"));
  EXPECT_TRUE(ends("{path: detail.size, matches: [{numeric: ['>', 4]}]}", R"("size":5)"));
}

TEST(EventRules, PredicatesOfRateLimiterPyCombined) {
  const auto ends = [](const char* when) {
    return EndedId(ClusterRule(fmt::format("    when: {}\n", when)),
                   ClusterEvent("j", R"("state":"DONE","name":"job")")) == "j";
  };
  EXPECT_TRUE(ends("{path: detail.state, equals: DONE, and: [{path: detail.name, equals: job}]}"));
  EXPECT_FALSE(ends("{path: detail.state, equals: DONE, and: [{path: detail.name, equals: x}]}"));
  EXPECT_FALSE(ends("{path: detail.state, equals: X, and: [{path: detail.name, equals: job}]}"));
  EXPECT_TRUE(ends("{path: detail.state, equals: X, or: [{path: detail.name, equals: job}]}"));
  EXPECT_FALSE(ends("{path: detail.state, equals: X, or: [{path: detail.name, equals: x}]}"));
  EXPECT_TRUE(
      ends("{path: detail.state, equals: DONE, and: [{path: detail.state, equals: X, or: "
           "[{path: detail.name, equals: job}]}]}"));
}

// The example of rate-limiter-py's README: lambda name: 'debugging' not in name.
TEST(EventRules, AnExampleOfRateLimiterPy) {
  const EventRules rules = ClusterRule(
      "    when: {path: detail.name, matches: [{anything-but: {wildcard: '*debugging*'}}]}\n");
  EXPECT_EQ(EndedId(rules, ClusterEvent("j", R"("name":"nightly")")), "j");
  EXPECT_EQ(EndedId(rules, ClusterEvent("j", R"("name":"for debugging only")")), "");
}

// In rate-limiter-py, 0, "", [] and false never reached the predicate's function.
TEST(EventRules, L15FalsyValuesMatch) {
  const auto ends = [](const char* lines, const char* value) {
    return EndedId(ClusterRule(lines), ClusterEvent("j", fmt::format(R"("v":{})", value))) == "j";
  };
  EXPECT_TRUE(ends("    when: {path: detail.v, equals: 0}\n", "0"));
  EXPECT_TRUE(ends("    when: {path: detail.v, equals: ''}\n", R"("")"));
  EXPECT_TRUE(ends("    when: {path: detail.v, equals: false}\n", "false"));
  EXPECT_TRUE(ends("    when: {path: detail.v, equals: null}\n", "null"));
  EXPECT_TRUE(ends("    when: {path: detail.v, matches: [{exists: false}]}\n", "[]"));
  EXPECT_TRUE(ends("    pattern: {detail.v: [0, '', false, null]}\n", "false"));
  EXPECT_FALSE(ends("    when: {path: detail.v, equals: 0}\n", "false"));
}

UnixMillis EndOf(std::string_view time) {
  const auto event =
      fmt::format(R"({{"source":"aws.emr","detail":{{"clusterId":"j"}},"time":{}}})", time);
  const auto matched = MatchEvent(ClusterRule(), event, kNow);
  return matched && matched->ended ? matched->ended->ended_at : UnixMillis{-1};
}

// EventBridge's times have whole seconds. A resource may have been claimed in the second in which
// it ended.
TEST(EventRules, ATimeInSecondsIsTheEndOfItsSecond) {
  EXPECT_EQ(EndOf(R"("2025-12-31T23:59:58Z")"), UnixMillis{1'767'225'598'999});
  EXPECT_EQ(EndOf(R"("2025-12-31T23:59:58.250Z")"), UnixMillis{1'767'225'598'250});
  EXPECT_EQ(EndOf(R"("2026-01-01T00:59:58+01:00")"), UnixMillis{1'767'225'598'999});
}

TEST(EventRules, NothingEndsAfterNow) {
  EXPECT_EQ(EndOf(R"("2026-01-01T00:00:00Z")"), kNow);
  EXPECT_EQ(EndOf(R"("9999-01-01T00:00:00Z")"), kNow);
  EXPECT_EQ(EndOf(R"("99999999999999-01-01T00:00:00Z")"), kNow);
}

TEST(EventRules, WithoutATimeItIsNow) {
  for (const char* time : {"null", "5", R"("")", R"("yesterday")", R"("infinite-past")",
                           R"("2025-13-01T00:00:00Z")", R"("2025-12-31")"}) {
    EXPECT_EQ(EndOf(time), kNow) << time;
  }
}

TEST(EventRules, WhatEndedIsNotRememberedUnlessSomebodySaysHowLong) {
  const auto matched = MatchEvent(ClusterRule(), ClusterEvent("j"), kNow);
  ASSERT_TRUE(matched && matched->ended);
  EXPECT_EQ(matched->ended->remember_until, UnixMillis{0});
}

// Fails if: the time to read an event is quadratic in the number of its objects (40 s for this
// one).
TEST(EventRules, I14AnEventOfManySmallObjectsIsRead) {
  std::string text = R"({"source":"x","a":[{})";
  while (text.size() < 512U << 10) text += ",{}";
  EXPECT_TRUE(MatchEvent(ClusterRule(), text + "]}", kNow).has_value());
}

TEST(EventRules, BracketsInTextsAreNoDepth) {
  const std::string brackets(2 * kMaxEventDepth, '[');
  const std::string text = R"({"source":"x","a":"\"\\)" + brackets + R"("})";
  EXPECT_TRUE(MatchEvent(ClusterRule(), text, kNow).has_value());
}

}  // namespace
}  // namespace weir
