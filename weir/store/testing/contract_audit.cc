// Audit events: appending them, listing them, and those of configuration changes.
#include <gmock/gmock.h>

#include <algorithm>

#include "weir/model/ulid.h"
#include "weir/store/testing/contract.h"

namespace weir {
namespace {

// Cuts a time to whole seconds, which every store keeps.
UnixMillis Whole(UnixMillis time) { return {time.value - time.value % 1000}; }

// Returns events of one subject, a second apart, the oldest first.
std::vector<AuditEvent> Events(const std::string& subject, int count, UnixMillis now) {
  UlidMaker ids;
  std::vector<AuditEvent> events;
  for (int i = 0; i < count; ++i) {
    const UnixMillis at = Whole(now) + milliseconds(1000 * i);
    events.push_back({.id = ids.Next(at, {.high = 7, .low = 7}),
                      .subject = subject,
                      .at = at,
                      .action = "step_" + std::to_string(i),
                      .principal = {},
                      .resource = {},
                      .details = {}});
  }
  return events;
}

// Returns the events on all pages of a subject.
std::vector<AuditEvent> AllEvents(ContractClient& store, const std::string& subject,
                                  std::size_t limit = 1000) {
  return AllPages(limit, [&](const PageRequest& page) { return store.ListEvents(subject, page); });
}

std::vector<std::string> ActionsOn(ContractClient& store, const std::string& subject) {
  std::vector<std::string> actions;
  for (const AuditEvent& event : AllEvents(store, subject)) actions.push_back(event.action);
  return actions;
}

using Actions = std::vector<std::string>;

// Fails if: a listing is ordered by the time of appending, or includes events of another subject
// whose name has the same prefix, or a page begins with the last event of the page before.
TEST_P(StoreContract, EventsAreListedTheNewestFirstInPagesOfAnySize) {
  const std::string acme = Fresh("acme");
  std::vector<AuditEvent> events = Events(acme, 5, harness_->now());
  for (const std::size_t i : {3U, 0U, 4U, 1U, 2U}) ASSERT_TRUE(store_.Append(events[i]));
  for (const AuditEvent& other : Events(acme + "1", 2, harness_->now())) {
    ASSERT_TRUE(store_.Append(other));
  }
  std::ranges::reverse(events);
  for (const std::size_t limit : {1U, 2U, 3U, 5U, 1000U}) {
    EXPECT_EQ(AllEvents(store_, acme, limit), events) << limit;
  }
  EXPECT_TRUE(AllEvents(store_, Fresh("nobody")).empty());
}

// Fails if: any part of an event is lost or changed.
TEST_P(StoreContract, EventsComeBackAsTheyWereAppended) {
  AuditEvent event = Events(Fresh("acme"), 1, harness_->now()).front();
  event.action = "something \"new\" \xE2\x82\xAC";
  event.principal = "arn:aws:iam::123456789012:role/Admin";
  event.resource = "gpt-4";
  event.details = {{"nothing", {}},
                   {"flag", {false}},
                   {"number", {std::int64_t{-9'007'199'254'740'993}}},
                   {"text", {std::string("a \"b\"\n")}},
                   {"empty", {std::string()}},
                   {"list", {AuditDetail::List{{true}, {std::int64_t{1}}, {AuditDetail::List{}}}}},
                   {"parts", {AuditDetail::Parts{{"a b", {std::string("c")}}, {"d", {}}}}}};
  ASSERT_TRUE(store_.Append(event));
  EXPECT_EQ(AllEvents(store_, event.subject), std::vector{event});
}

// Fails if: one store keeps the time of an event in milliseconds, another one in seconds.
TEST_P(StoreContract, EventsKeepWholeSeconds) {
  AuditEvent event = Events(Fresh("acme"), 1, harness_->now()).front();
  const UnixMillis second = event.at;
  event.at = second + milliseconds(999);
  ASSERT_TRUE(store_.Append(event));
  const auto listed = AllEvents(store_, event.subject);
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed.front().at, second);
}

// Fails if: an append that is repeated after its response was lost counts twice, or replaces the
// event.
TEST_P(StoreContract, AnEventThatIsAppendedAgainCountsOnce) {
  AuditEvent event = Events(Fresh("acme"), 1, harness_->now()).front();
  ASSERT_TRUE(store_.Append(event));
  AuditEvent other = event;
  other.action = "other";
  ASSERT_TRUE(store_.Append(other));
  EXPECT_EQ(AllEvents(store_, event.subject), std::vector{event});
}

// Fails if: a cursor is looked up among the events, one of which may have expired.
TEST_P(StoreContract, APageBeginsBehindAnEventThatIsNotThere) {
  const std::vector<AuditEvent> events = Events(Fresh("acme"), 3, harness_->now());
  ASSERT_TRUE(store_.Append(events[0]));
  ASSERT_TRUE(store_.Append(events[2]));
  const auto page = store_.ListEvents(events[0].subject, {.cursor = events[1].id, .limit = 10});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items, std::vector{events[0]});
}

// Fails if: a check is left to the caller.
TEST_P(StoreContract, BadEventsAndBadPagesOfThemAreRefused) {
  const AuditEvent good = Events(Fresh("acme"), 1, harness_->now()).front();
  const auto refused = [&](auto change) {
    AuditEvent event = good;
    change(event);
    return ErrorOf(store_.Append(event)).code;
  };
  EXPECT_EQ(refused([](AuditEvent& e) { e.subject = "a#b"; }), Code::kInvalidArgument);
  EXPECT_EQ(refused([](AuditEvent& e) { e.subject = "$NOBODY"; }), Code::kInvalidArgument);
  EXPECT_EQ(refused([](AuditEvent& e) { e.principal = "arn:\n"; }), Code::kInvalidArgument);
  EXPECT_EQ(refused([](AuditEvent& e) { e.id = "1"; }), Code::kInvalidArgument);
  EXPECT_TRUE(AllEvents(store_, good.subject).empty());
  const auto bad_page = [&](std::string subject, PageRequest page) {
    return ErrorOf(store_.ListEvents(std::move(subject), std::move(page))).code;
  };
  EXPECT_EQ(bad_page("a#b", {}), Code::kInvalidArgument);
  EXPECT_EQ(bad_page(good.subject, {.cursor = "no cursor", .limit = 1}), Code::kInvalidArgument);
  EXPECT_EQ(bad_page(good.subject, {.cursor = "\n", .limit = 1}), Code::kInvalidArgument);
  EXPECT_EQ(bad_page(good.subject, {.cursor = {}, .limit = 0}), Code::kInvalidArgument);
}

// Fails if: a kind of change is not audited, or is audited under another subject.
TEST_P(StoreContract, ChangesOfTheConfigurationAreAudited) {
  const std::string acme = Fresh("acme");
  const LevelLimits limits{.limits = {Rpm(10)}};
  ASSERT_TRUE(
      store_.Apply({PutLimits{Level::System(), limits}, PutLimits{Level::Resource("gpt-4"), limits},
                    CreateEntity{{.entity = {.id = acme, .name = "Acme"}}}}));
  ASSERT_TRUE(store_.Apply({PutLimits{Level::EntityDefault(acme), limits},
                            PutLimits{Level::Entity(acme, "gpt-4"), limits}}));
  ASSERT_TRUE(store_.Apply({DeleteLimits{Level::Entity(acme, "gpt-4")}}));
  ASSERT_TRUE(store_.Apply({DeleteEntity{acme}}));
  EXPECT_EQ(ActionsOn(store_, std::string(kSystemSubject)), Actions{"limits_set"});
  EXPECT_EQ(ActionsOn(store_, ResourceSubject("gpt-4")), Actions{"limits_set"});
  // Events of the same millisecond have no defined order.
  EXPECT_THAT(ActionsOn(store_, acme),
              testing::UnorderedElementsAre("entity_created", "limits_set", "limits_set",
                                            "limits_deleted", "entity_deleted"));
}

// Fails if: an event lacks the time, the resource or the limits of its change.
TEST_P(StoreContract, AnAuditedChangeTellsItsTimeAndWhatWasSet) {
  const std::string acme = Fresh("acme");
  ASSERT_TRUE(store_.Apply({PutLimits{Level::Entity(acme, "gpt-4"), {.limits = {Rpm(10)}}}}));
  const auto listed = AllEvents(store_, acme);
  ASSERT_EQ(listed.size(), 1U);
  const AuditEvent& event = listed.front();
  EXPECT_EQ(event.resource, "gpt-4");
  EXPECT_EQ(event.at, Whole(event.at));
  const auto made = TimeOfUlid(event.id);
  ASSERT_TRUE(made);
  EXPECT_EQ(Whole(*made), event.at);
  const AuditDetail::Parts limit = {{"name", {std::string("rpm")}},
                                    {"capacity", {std::int64_t{10}}},
                                    {"refill_amount", {std::int64_t{10}}},
                                    {"refill_period_seconds", {std::int64_t{60}}}};
  EXPECT_EQ(event.details,
            (AuditDetail::Parts{{"limits", {AuditDetail::List{AuditDetail{limit}}}}}));
}

// Fails if: fractions of a token or a second are cut off, or an allowance is missing.
TEST_P(StoreContract, Z2AnAuditedLimitIsToldExactly) {
  const std::string acme = Fresh("acme");
  const Limit limit{"usd", {.capacity = 500, .amount = 1'250, .period = 250}, milliseconds(100)};
  ASSERT_TRUE(store_.Apply({PutLimits{Level::Entity(acme, "gpt-4"), {.limits = {limit}}}}));
  const AuditDetail::Parts told = {{"name", {std::string("usd")}},
                                   {"capacity", {std::string("0.5")}},
                                   {"refill_amount", {std::string("1.25")}},
                                   {"refill_period_seconds", {std::string("0.25")}},
                                   {"allowance_seconds", {std::string("0.1")}}};
  const auto listed = AllEvents(store_, acme);
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed.front().details,
            (AuditDetail::Parts{{"limits", {AuditDetail::List{AuditDetail{told}}}}}));
}

// U7. Fails if: tokens or seconds with decimals are cut to whole ones.
TEST_P(StoreContract, U7AnAuditedLimitKeepsItsDecimals) {
  const std::string acme = Fresh("acme");
  const std::vector<Limit> limits = {{"usd", {500, 500, 3'600'000}}, {"ms", {10'000, 10'000, 250}}};
  ASSERT_TRUE(store_.Apply({PutLimits{Level::Entity(acme, "gpt-4"), {.limits = limits}}}));
  const auto listed = AllEvents(store_, acme);
  ASSERT_EQ(listed.size(), 1U);
  const AuditDetail::Parts usd = {{"name", {std::string("usd")}},
                                  {"capacity", {std::string("0.5")}},
                                  {"refill_amount", {std::string("0.5")}},
                                  {"refill_period_seconds", {std::int64_t{3600}}}};
  const AuditDetail::Parts ms = {{"name", {std::string("ms")}},
                                 {"capacity", {std::int64_t{10}}},
                                 {"refill_amount", {std::int64_t{10}}},
                                 {"refill_period_seconds", {std::string("0.25")}}};
  EXPECT_EQ(listed.front().details,
            (AuditDetail::Parts{{"limits", {AuditDetail::List{AuditDetail{usd}, {ms}}}}}));
}

// Fails if: every write of an entity is audited as its creation.
TEST_P(StoreContract, OnlyAParentThatChangesIsAuditedOfAnEntityThatIsThere) {
  const std::string acme = Fresh("acme");
  const auto put = [&](std::optional<std::string> parent, const std::string& name) {
    return store_.Apply(
        {PutEntity{{.entity = {.id = acme, .name = name, .parent = std::move(parent)}}}});
  };
  ASSERT_TRUE(put(std::nullopt, "Acme"));
  ASSERT_TRUE(put(std::nullopt, "Acme Corporation"));
  ASSERT_TRUE(put("parent", "Acme Corporation"));
  EXPECT_THAT(ActionsOn(store_, acme),
              testing::UnorderedElementsAre("entity_created", "entity_parent_changed"));
  const AuditDetail::Parts told = {{"old_parent_id", {}},
                                   {"new_parent_id", {std::string("parent")}}};
  const auto listed = AllEvents(store_, acme);
  EXPECT_EQ(std::ranges::count(listed, told, &AuditEvent::details), 1);
}

// Fails if: events are stored before it is known that all changes can be made.
TEST_P(StoreContract, ChangesThatAreNotMadeAreNotAudited) {
  const std::string acme = Fresh("acme");
  EXPECT_FALSE(store_.Apply(
      {CreateEntity{{.entity = {.id = acme}}}, DeleteLimits{Level::Entity(acme, "gpt-4")}}));
  EXPECT_TRUE(AllEvents(store_, acme).empty());
}

// Fails if: a retention is lost or not audited, or a change of the system limits removes it.
TEST_P(StoreContract, ARetentionIsKeptAndAudited) {
  ASSERT_EQ(store_.GetRetention().value_or(0), 90);
  ASSERT_TRUE(store_.SetRetention(7));
  EXPECT_EQ(store_.GetRetention().value_or(0), 7);
  ASSERT_TRUE(store_.Apply({PutLimits{Level::System(), {.limits = {Rpm(10)}}}}));
  ASSERT_TRUE(store_.Apply({DeleteLimits{Level::System()}}));
  EXPECT_EQ(store_.GetRetention().value_or(0), 7);
  EXPECT_THAT(ActionsOn(store_, std::string(kSystemSubject)),
              testing::UnorderedElementsAre("audit_retention_set", "limits_set", "limits_deleted"));
}

TEST_P(StoreContract, ARetentionOutOfRangeIsRefused) {
  for (const std::int64_t days : {std::int64_t{-1}, std::int64_t{0}, kMaxAuditRetentionDays + 1}) {
    EXPECT_EQ(ErrorOf(store_.SetRetention(days)).code, Code::kInvalidArgument) << days;
  }
  EXPECT_EQ(store_.GetRetention().value_or(0), 90);
  EXPECT_TRUE(AllEvents(store_, std::string(kSystemSubject)).empty());
}

}  // namespace
}  // namespace weir
