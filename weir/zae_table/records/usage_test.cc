#include "weir/zae_table/records/usage.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "weir/codec/iso_time.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr milliseconds kHour{3'600'000};

UsageSnapshot Hour(const std::string& entity, const std::string& resource, int hour) {
  return {.entity = entity,
          .resource = resource,
          .window = hour % 24 == 0 ? UsageWindow::kDaily : UsageWindow::kHourly,
          .start = kNewYear + hour * kHour,
          .used = {{"rpm", 1 + hour}},
          .events = 1 + hour};
}

// Returns the item that the aggregator would write: Weir's or, if it is mixed, zae-limiter's.
Item UsageItem(const Keys& keys, const UsageSnapshot& snapshot) {
  const std::string start = FormatIso(snapshot.start);
  const bool is_daily = snapshot.window == UsageWindow::kDaily && !snapshot.mixed;
  const std::string suffix = is_daily ? "#daily" : "";
  Item item = ToItem({keys.EntityPartition(snapshot.entity),
                      fmt::format("#USAGE#{}#{}{}", snapshot.resource, start, suffix)});
  item.emplace("entity_id", Of(snapshot.entity));
  item.emplace("resource", Of(snapshot.resource));
  item.emplace("window", Of(Name(snapshot.window)));
  item.emplace("window_start", Of(start));
  item.emplace("total_events", Of(snapshot.events));
  item.emplace("ttl", Of(std::int64_t{1'800'000'000}));
  item.emplace("GSI2PK", Of(keys.OfResource(snapshot.resource)));
  item.emplace("GSI2SK", Of(fmt::format("USAGE#{}#{}{}", start, snapshot.entity, suffix)));
  item.emplace("GSI4PK", Of(keys.namespace_id()));
  item.emplace("GSI4SK", Of(keys.EntityPartition(snapshot.entity)));
  for (const auto& [limit, used] : snapshot.used) item.emplace(limit, Of(used));
  for (const auto& [limit, times] : snapshot.overdrawn) item.emplace(limit + "#od", Of(times));
  return item;
}

// The usage of namespace `ns`.
struct Usage {
  void Put(const UsageSnapshot& snapshot) { sim.Put(UsageItem(keys, snapshot)); }
  Result<Page<UsageSnapshot>> List(const UsageFilter& filter, const PageRequest& page = {}) {
    return sim.Ask<Page<UsageSnapshot>>(
        [&](auto done) { reader.List(filter, page, kNever, std::move(done)); });
  }
  Status Add(const UsageSnapshot& added) {
    return sim.Ask<void>([&](auto done) { reader.Add(added, kNever, std::move(done)); });
  }
  // Reads all pages. The test fails on an empty page that is not the first.
  std::vector<UsageSnapshot> All(const UsageFilter& filter, std::size_t limit) {
    std::vector<UsageSnapshot> all;
    PageRequest request{.cursor = "", .limit = limit};
    do {
      const auto page = List(filter, request);
      EXPECT_TRUE(page) << page.error().message;
      EXPECT_LE(page->items.size(), limit);
      EXPECT_TRUE(!page->items.empty() || (request.cursor.empty() && page->next.empty()));
      all.insert(all.end(), page->items.begin(), page->items.end());
      request.cursor = page->next;
    } while (!request.cursor.empty());
    return all;
  }

  ZaeSimTable sim;
  Keys keys{"ns"};
  UsageTable reader{sim.table, keys};
};

TEST(UsageTable, ReadsASnapshotAsTheAggregatorWritesIt) {
  UsageSnapshot snapshot = Hour("acme", "models/gpt-4", 5);
  snapshot.used["tpm"] = 12'000;
  snapshot.overdrawn["tpm"] = 3;
  EXPECT_EQ(ReadUsage(UsageItem(Keys("ns"), snapshot)), snapshot);
}

TEST(UsageTable, WhatIsNoSnapshotIsPassedOver) {
  for (const char* field : {"entity_id", "resource", "window", "window_start"}) {
    Item item = UsageItem(Keys("ns"), Hour("acme", "api", 1));
    item.erase(field);
    EXPECT_EQ(ReadUsage(item), std::nullopt) << field;
  }
  Usage t;
  Item old = ToItem({t.keys.EntityPartition("acme"), "#USAGE#api#2020-01-01T00:00:00Z"});
  old.emplace("data", Value{Item{}});
  t.sim.Put(old);
  t.Put(Hour("acme", "api", 1));
  EXPECT_THAT(t.List({.entity = "acme"})->items, SizeIs(1));
}

TEST(UsageTable, OfAnEntityTheNewestComesFirst) {
  Usage t;
  for (int hour = 0; hour < 3; ++hour) t.Put(Hour("acme", "api", hour));
  t.Put(Hour("acme", "api-2", 9));
  t.Put(Hour("bolt", "api", 9));
  const auto page = t.List({.entity = "acme", .resource = "api"});
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->items,
            (std::vector{Hour("acme", "api", 2), Hour("acme", "api", 1), Hour("acme", "api", 0)}));
  EXPECT_THAT(t.List({.entity = "acme"})->items, SizeIs(4));
}

TEST(UsageTable, OfAResourceAllEntitiesAreRead) {
  Usage t;
  for (int hour = 0; hour < 3; ++hour) {
    for (const char* entity : {"acme", "bolt"}) t.Put(Hour(entity, "api", hour));
  }
  t.Put(Hour("acme", "web", 1));
  const auto all = t.All({.resource = "api"}, 4);
  ASSERT_THAT(all, SizeIs(6));
  EXPECT_EQ(all.front(), Hour("bolt", "api", 2));
  EXPECT_EQ(all.back(), Hour("acme", "api", 0));
}

// zae-limiter returns an empty page with a cursor here.
TEST(UsageTable, AFilterThatFewPassLeavesNoPageEmpty) {
  Usage t;
  for (int hour = 0; hour < 240; ++hour) t.Put(Hour("acme", "api", hour));
  const auto before = t.sim.client.calls();
  const auto first =
      t.List({.entity = "acme", .window = UsageWindow::kDaily}, {.cursor = "", .limit = 2});
  ASSERT_TRUE(first);
  EXPECT_THAT(first->items, SizeIs(2));
  EXPECT_EQ(t.sim.client.calls() - before, 1U);
  EXPECT_THAT(t.All({.entity = "acme", .window = UsageWindow::kDaily}, 2), SizeIs(10));
  EXPECT_THAT(t.All({.entity = "acme", .window = UsageWindow::kMonthly}, 2), IsEmpty());
}

TEST(UsageTable, NothingIsReadBeforeTheTimeAskedFor) {
  Usage t;
  for (int hour = 0; hour < 100; ++hour) t.Put(Hour("acme", "api", hour));
  const UsageFilter filter{.resource = "api", .from = kNewYear + 98 * kHour};
  const auto before = t.sim.client.calls();
  const auto page = t.List(filter, {.cursor = "", .limit = 5});
  ASSERT_TRUE(page);
  EXPECT_THAT(page->items, SizeIs(2));
  EXPECT_EQ(page->next, "");
  EXPECT_EQ(t.sim.client.calls() - before, 1U);
}

TEST(UsageTable, BadRequestsAreRefused) {
  Usage t;
  t.Put(Hour("acme", "api", 0));
  const auto code = [&](const UsageFilter& filter, const PageRequest& page) {
    const auto result = t.List(filter, page);
    return result ? Code::kUnknown : result.error().code;
  };
  EXPECT_EQ(code({}, {}), Code::kInvalidArgument);
  EXPECT_EQ(code({.entity = "a#b"}, {}), Code::kInvalidArgument);
  EXPECT_EQ(code({.resource = "a b"}, {}), Code::kInvalidArgument);
  EXPECT_EQ(code({.entity = "acme"}, {.cursor = "", .limit = 0}), Code::kInvalidArgument);
  for (const char* cursor : {"x", "api", "api ", "api yesterday", " 2026-01-01T00:00:00Z",
                             "other 2026-01-01T00:00:00Z daily", "api 2026-01-01T00:00:00Z",
                             "api 2026-01-01T00:00:00Z weekly"}) {
    EXPECT_EQ(code({.entity = "acme", .resource = "api"}, {.cursor = cursor, .limit = 1}),
              Code::kInvalidArgument)
        << cursor;
  }
}

// Fails if: the day's counts of zae-limiter's aggregator pass for those of the hour, or an hour
// that Weir created for mixed ones.
TEST(UsageTable, AnHourAtMidnightIsMixedOnlyInAnItemOfAnotherAggregator) {
  Usage t;
  UsageSnapshot peer = Hour("acme", "api", 0);
  peer.mixed = true;
  t.Put(peer);
  UsageSnapshot hour = Hour("acme", "api", 0);
  hour.window = UsageWindow::kHourly;
  ASSERT_TRUE(t.Add(hour));
  hour.entity = "bolt";
  ASSERT_TRUE(t.Add(hour));
  const auto of = [&](const std::string& entity) { return t.List({.entity = entity})->items; };
  ASSERT_THAT(of("acme"), SizeIs(1));
  EXPECT_TRUE(of("acme")[0].mixed);
  EXPECT_EQ(of("acme")[0].used.at("rpm"), 2);
  EXPECT_EQ(of("bolt"), std::vector{hour});
  UsageSnapshot day = Hour("bolt", "api", 0);
  ASSERT_TRUE(t.Add(day));
  EXPECT_THAT(of("bolt"), testing::UnorderedElementsAre(hour, day));
}

// Fails if: the number of counters that can be added at once depends on DynamoDB's limit for an
// expression, and the error does not tell the caller that number.
TEST(UsageTable, MoreCountersThanOneUpdateCanAddAreRefused) {
  Usage t;
  UsageSnapshot added = Hour("acme", "api", 1);
  added.used.clear();
  for (std::size_t i = 0; i < kMaxAddedCounters / 2; ++i) {
    const std::string limit = fmt::format("limit-{}-{}", i, std::string(50, 'x'));
    added.used.emplace(limit, static_cast<std::int64_t>(1'000'000 + i));
    added.overdrawn.emplace(limit, static_cast<std::int64_t>(2'000'000 + i));
  }
  UsageSnapshot more = added;
  more.used.emplace("one-more", 1);
  const Status refused = t.Add(more);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("at most 200"));
  EXPECT_THAT(t.List({.entity = "acme"})->items, IsEmpty());
  const Status stored = t.Add(added);
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(t.List({.entity = "acme"})->items, std::vector{added});
}

// Fails if: a cursor skips or repeats a snapshot at the border of two pages, or the search for the
// beginning of a time span stops too early.
RC_GTEST_PROP(UsageTable, PagesTogetherAreWhatMatches, ()) {
  Usage t;
  std::vector<UsageSnapshot> stored;
  for (const char* entity : {"acme", "bolt"}) {
    for (const char* resource : {"api", "web"}) {
      for (int hour = 20; hour < 32; ++hour) {
        if (*rc::gen::inRange(0, 3) > 0) continue;
        stored.push_back(Hour(entity, resource, hour));
        stored.back().mixed = hour == 24 && *rc::gen::arbitrary<bool>();
        t.Put(stored.back());
        if (hour != 24 || stored.back().mixed) continue;
        stored.push_back(stored.back());  // the hour at 00:00, and its day
        stored.back().window = UsageWindow::kHourly;
        RC_ASSERT(t.Add(stored.back()).has_value());
      }
    }
  }
  UsageFilter filter;
  const int named = *rc::gen::inRange(1, 4);
  if (named & 1) filter.entity = "acme";
  if (named & 2) filter.resource = "web";
  if (*rc::gen::arbitrary<bool>()) filter.window = UsageWindow::kHourly;
  if (*rc::gen::arbitrary<bool>()) filter.from = kNewYear + *rc::gen::inRange(19, 33) * kHour;
  if (*rc::gen::arbitrary<bool>()) filter.until = kNewYear + *rc::gen::inRange(19, 33) * kHour;
  std::erase_if(stored, [&](const UsageSnapshot& one) { return !Matches(filter, one); });
  const auto less = [](const UsageSnapshot& a, const UsageSnapshot& b) {
    return std::tie(a.entity, a.resource, a.start, a.window) <
           std::tie(b.entity, b.resource, b.start, b.window);
  };
  auto read = t.All(filter, *rc::gen::inRange<std::size_t>(1, 8));
  std::ranges::sort(read, less);
  std::ranges::sort(stored, less);
  RC_ASSERT(read == stored);
}

}  // namespace
}  // namespace weir::dynamo
