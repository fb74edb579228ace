#include "weir/zae_table/records/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "weir/model/ulid.h"
#include "weir/zae_table/dynamo_backend.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

AuditEvent LimitsSet() {
  return {.id = "01KDVAHT00TSV4RRFFQ69G5FAV",
          .subject = "acme",
          .at = kNewYear,
          .action = std::string(audit_action::kLimitsSet),
          .principal = "arn:aws:iam::1:user/me",
          .resource = "api",
          .details = {{"limits",
                       {AuditDetail::List{{AuditDetail::Parts{
                           {"name", {"rpm"}}, {"capacity", {std::int64_t{100}}}}}}}}}};
}

// The audit log of the namespace `ns`.
class AuditTest : public testing::Test {
 protected:
  void Log(const AuditEvent& event) { sim_.Put(AuditItem(keys_, event, 90)); }
  // Stores `count` events of a subject, one a second. Returns their ids; the last is the newest.
  std::vector<std::string> LogMany(const std::string& subject, int count) {
    UlidMaker maker;
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) {
      AuditEvent event = LimitsSet();
      event.at = kNewYear + milliseconds(1000 * i);
      event.id = maker.Next(event.at, {});
      event.subject = subject;
      ids.push_back(event.id);
      Log(event);
    }
    return ids;
  }
  Result<Page<AuditEvent>> List(std::string_view subject, const PageRequest& page = {}) {
    return sim_.Ask<Page<AuditEvent>>(
        [&](auto done) { trail_.List(subject, page, kNever, std::move(done)); });
  }
  Result<std::int64_t> GetRetention() {
    return sim_.Ask<std::int64_t>([&](auto done) { trail_.GetRetention(kNever, std::move(done)); });
  }

  ZaeSimTable sim_;
  Keys keys_{"ns"};
  AuditTrail trail_{sim_.table, keys_};
};

TEST_F(AuditTest, AnEventIsStoredAsZaeLimiterStoresIt) {
  std::string json;
  AppendJson(json, AuditItem(keys_, LimitsSet(), 90));
  EXPECT_EQ(json,
            R"({"GSI4PK":{"S":"ns"},"GSI4SK":{"S":"ns/AUDIT#acme"},"PK":{"S":"ns/AUDIT#acme"},)"
            R"("SK":{"S":"#AUDIT#01KDVAHT00TSV4RRFFQ69G5FAV"},"action":{"S":"limits_set"},)"
            R"("details":{"M":{"limits":{"L":[{"M":{"capacity":{"N":"100"},)"
            R"("name":{"S":"rpm"}}}]}}},"entity_id":{"S":"acme"},)"
            R"("event_id":{"S":"01KDVAHT00TSV4RRFFQ69G5FAV"},)"
            R"("principal":{"S":"arn:aws:iam::1:user/me"},"resource":{"S":"api"},)"
            R"("timestamp":{"S":"2026-01-01T00:00:00Z"},"ttl":{"N":"1775001600"}})");
}

TEST_F(AuditTest, WhoAndOnWhatMayBeUnknown) {
  AuditEvent event = LimitsSet();
  event.principal.reset();
  event.resource.reset();
  const Item item = AuditItem(keys_, event, 1);
  EXPECT_EQ(item.at("principal"), Value{Null{}});
  EXPECT_EQ(item.at("resource"), Value{Null{}});
  EXPECT_EQ(*GetNumber(item, "ttl"), kNewYear.value / 1000 + 86'400);
  EXPECT_EQ(ReadAuditEvent(item), event);
}

// Fails if: a kind of detail is written or read as another one, or a field is left out.
RC_GTEST_PROP(Audit, WhatIsStoredIsReadAgain, ()) {
  const auto text = rc::gen::container<std::string>(rc::gen::inRange('\x20', '\x7f'));
  AuditEvent event = LimitsSet();
  event.action = *rc::gen::nonEmpty(text);
  event.at = {*rc::gen::inRange<std::int64_t>(0, 4'000'000'000) * 1000};
  if (*rc::gen::arbitrary<bool>()) event.principal.reset();
  event.details["flag"] = {*rc::gen::arbitrary<bool>()};
  event.details["number"] = {*rc::gen::arbitrary<std::int64_t>()};
  event.details["text"] = {*text};
  event.details["none"] = {};
  RC_ASSERT(ReadAuditEvent(AuditItem(Keys("ns"), event, 90)) == event);
}

TEST_F(AuditTest, NumbersThatAreNotWholeAreToldAsText) {
  Item item = AuditItem(keys_, LimitsSet(), 90);
  item.insert_or_assign("details", Value{Item{{"rate", Value{Number{"1.5"}}},
                                              {"tags", Value{StringSet{{"a", "b"}}}},
                                              {"raw", Value{Bytes{"x"}}}}});
  const auto event = ReadAuditEvent(item);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->details.at("rate"), AuditDetail{"1.5"});
  EXPECT_EQ(event->details.at("tags"), (AuditDetail{AuditDetail::List{{"a"}, {"b"}}}));
  EXPECT_EQ(event->details.at("raw"), AuditDetail{R"({"B":"eA=="})"});
}

TEST_F(AuditTest, ADamagedEventIsNamed) {
  for (const char* field : {"event_id", "action", "timestamp"}) {
    Item item = AuditItem(keys_, LimitsSet(), 90);
    item.erase(field);
    const auto event = ReadAuditEvent(item);
    ASSERT_FALSE(event) << field;
    EXPECT_EQ(event.error().code, Code::kDataLoss);
    EXPECT_THAT(event.error().message, HasSubstr("01KDVAHT00TSV4RRFFQ69G5FAV"));
  }
}

TEST_F(AuditTest, TheNewestComesFirst) {
  const std::vector<std::string> ids = LogMany("acme", 3);
  LogMany("bolt", 2);
  const auto page = List("acme");
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_THAT(page->items, SizeIs(3));
  EXPECT_EQ(page->items[0].id, ids[2]);
  EXPECT_EQ(page->items[2].id, ids[0]);
  EXPECT_EQ(page->items[0].details, LimitsSet().details);
  EXPECT_EQ(page->next, "");
  EXPECT_THAT(List("nobody")->items, IsEmpty());
}

TEST_F(AuditTest, PagesGoOnBehindAnEventAndNoneIsEmpty) {
  std::vector<std::string> ids = LogMany("acme", 5);
  std::ranges::reverse(ids);
  for (const std::size_t limit : {1U, 2U, 5U, 6U}) {
    std::vector<std::string> paged;
    PageRequest request{.cursor = "", .limit = limit};
    do {
      const auto page = List("acme", request);
      ASSERT_TRUE(page);
      ASSERT_FALSE(page->items.empty());
      for (const AuditEvent& event : page->items) paged.push_back(event.id);
      request.cursor = page->next;
    } while (!request.cursor.empty());
    EXPECT_EQ(paged, ids) << limit;
  }
}

TEST_F(AuditTest, ResourcesAndTheSystemHaveTrailsToo) {
  LogMany(std::string(kSystemSubject), 1);
  LogMany(ResourceSubject("api"), 2);
  EXPECT_THAT(List(kSystemSubject)->items, SizeIs(1));
  EXPECT_THAT(List("$RESOURCE:api")->items, SizeIs(2));
}

TEST_F(AuditTest, AnEventThatIsAppendedTwiceCountsOnce) {
  const auto append = [&](const AuditEvent& event) {
    return sim_.Ask<void>([&](auto done) { trail_.Append(event, kNever, std::move(done)); });
  };
  ASSERT_TRUE(append(LimitsSet()));
  const Item kept = *sim_.Get(keys_.AuditEvent("acme", LimitsSet().id));
  EXPECT_EQ(kept, AuditItem(keys_, LimitsSet(), 90));
  AuditEvent other = LimitsSet();
  other.action = "another";
  ASSERT_TRUE(append(other));
  EXPECT_THAT(List("acme")->items, ElementsAre(LimitsSet()));
}

TEST_F(AuditTest, WhatIsNoEventIsNotAppended) {
  const auto code = [&](const AuditEvent& event) {
    return sim_.Ask<void>([&](auto done) { trail_.Append(event, kNever, std::move(done)); })
        .error()
        .code;
  };
  AuditEvent event = LimitsSet();
  event.id = "5";
  EXPECT_EQ(code(event), Code::kInvalidArgument);
  event = LimitsSet();
  event.subject = "a#b";
  EXPECT_EQ(code(event), Code::kInvalidArgument);
  event = LimitsSet();
  event.principal = "a b";
  EXPECT_EQ(code(event), Code::kInvalidArgument);
  EXPECT_THAT(sim_.AllKeys(), IsEmpty());
}

TEST_F(AuditTest, BadRequestsAreRefused) {
  EXPECT_EQ(List("a#b").error().code, Code::kInvalidArgument);
  EXPECT_EQ(List("acme", {.cursor = "5", .limit = 1}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(List("acme", {.cursor = "", .limit = 0}).error().code, Code::kInvalidArgument);
}

TEST_F(AuditTest, AnEventJoinsATransaction) {
  Write refused{
      .kind = Write::Kind::kCheck, .key = keys_.Entity("acme"), .item = {}, .expression = {}};
  refused.expression.RequireExists("PK");
  const std::vector<Write> writes = {AuditWrite(keys_, LimitsSet(), 90), refused};
  sim_.table.Transact(writes, "token", kNever, [](const auto& done) { EXPECT_FALSE(done); });
  EXPECT_THAT(List("acme")->items, IsEmpty());
  sim_.table.Transact({writes[0]}, "token-2", kNever, [](const auto& done) { EXPECT_TRUE(done); });
  EXPECT_THAT(List("acme")->items, ElementsAre(LimitsSet()));
}

TEST_F(AuditTest, EventsAreKeptAsLongAsTheNamespaceSays) {
  EXPECT_EQ(*GetRetention(), 90);
  Item config = ToItem(keys_.Config(Level::System()));
  sim_.Put(config);
  EXPECT_EQ(*GetRetention(), 90);
  config.emplace("audit_retention_days", Of(std::int64_t{7}));
  sim_.Put(config);
  EXPECT_EQ(*GetRetention(), 7);
}

// Fails if: a change of the configuration keeps its event for 90 days whatever the namespace says.
TEST_F(AuditTest, AChangeOfTheConfigurationIsKeptAsLongAsTheNamespaceSays) {
  std::uint64_t drawn = 7;  // shared by the copies of the function
  DynamoBackend backend({.client = sim_.client,
                         .scheduler = sim_.scheduler,
                         .table = sim_.table.name(),
                         .namespace_id = "ns",
                         .sources = {.random = [&drawn] { return ++drawn; }}});
  Item config = ToItem(keys_.Config(Level::System()));
  config.emplace("audit_retention_days", Of(std::int64_t{7}));
  sim_.Put(config);
  for (const Level& level : {Level::Entity("acme", "api"), Level::System()}) {
    const auto put = sim_.Ask<void>([&](Done<void> done) {
      backend.config().Apply({PutLimits{level, {.limits = {{"rpm", PerMinute(9)}}}}}, kNever,
                             std::move(done));
    });
    ASSERT_TRUE(put) << Describe(level) << ": " << put.error().message;
  }
  for (const std::string_view subject : {std::string_view("acme"), kSystemSubject}) {
    const auto events = List(subject);
    ASSERT_THAT(events->items, SizeIs(1)) << subject;
    const Item item = *sim_.Get(keys_.AuditEvent(subject, events->items[0].id));
    EXPECT_EQ(GetNumber(item, "ttl"), events->items[0].at.value / 1000 + 7 * 86'400) << subject;
  }
}

// Fails if: a number that another client wrote becomes a time that no ttl holds.
TEST_F(AuditTest, ARetentionOfAnotherClientIsCutToTheLongest) {
  Item config = ToItem(keys_.Config(Level::System()));
  config.emplace("audit_retention_days", Of(std::int64_t{INT64_MAX}));
  sim_.Put(config);
  EXPECT_EQ(*GetRetention(), kMaxAuditRetentionDays);
}

// D5. Fails if: events expire by a clock that can be set.
TEST_F(AuditTest, D5ChangesAreDatedByTheTablesTimeWhateverTheWallClockShows) {
  DynamoBackend backend({.client = sim_.client,
                         .scheduler = sim_.scheduler,
                         .table = sim_.table.name(),
                         .namespace_id = "ns",
                         .sources = {.random = [n = std::uint64_t{7}]() mutable { return ++n; }}});
  const UnixMillis opened = backend.buckets().Now();
  sim_.scheduler.sim_clock().SetWall(opened + std::chrono::hours(24 * 365 * 74));
  const auto put = sim_.Ask<void>([&](Done<void> done) {
    backend.config().Apply(
        {PutLimits{Level::Entity("acme", "api"), {.limits = {{"rpm", PerMinute(9)}}}}}, kNever,
        std::move(done));
  });
  ASSERT_TRUE(put.has_value()) << put.error().message;
  const auto events = List("acme");
  ASSERT_THAT(events->items, SizeIs(1));
  EXPECT_EQ(events->items[0].at, UnixMillis{opened.value / 1000 * 1000}) << "whole seconds";
  const Item item = *sim_.Get(keys_.AuditEvent("acme", events->items[0].id));
  EXPECT_EQ(GetNumber(item, "ttl"), opened.value / 1000 + 90 * 86'400);
}

// Fails if: one event that cannot be read hides all others.
TEST_F(AuditTest, AnEventThatCannotBeReadIsListedAsSuch) {
  const std::vector<std::string> ids = LogMany("acme", 3);
  Item damaged = *sim_.Get(keys_.AuditEvent("acme", ids[1]));
  damaged.erase("action");
  sim_.Put(damaged);
  const auto page = List("acme");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(page->items, SizeIs(2));
  ASSERT_THAT(page->unreadable, SizeIs(1));
  EXPECT_THAT(page->unreadable[0], HasSubstr(ids[1]));
}

}  // namespace
}  // namespace weir::dynamo
