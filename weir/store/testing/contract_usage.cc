// Usage by hours, days and months: adding and finding it.
#include <algorithm>

#include "weir/store/testing/contract.h"

namespace weir {
namespace {

constexpr UnixMillis kNewYear{1'767'225'600'000};
constexpr milliseconds kHour = std::chrono::hours(1);

UsageSnapshot Hour(const std::string& entity, const std::string& resource, int hour) {
  return {.entity = entity,
          .resource = resource,
          .window = UsageWindow::kHourly,
          .start = kNewYear + hour * kHour,
          .used = {{"rpm", hour}},
          .overdrawn = {},
          .events = 1};
}

UsageSnapshot Day(const std::string& entity, const std::string& resource, int day) {
  UsageSnapshot snapshot = Hour(entity, resource, 24 * day);
  snapshot.window = UsageWindow::kDaily;
  return snapshot;
}

UsageFilter Of(const std::string& entity, std::optional<std::string> resource = {}) {
  return {.entity = entity, .resource = std::move(resource), .window = {}, .from = {}, .until = {}};
}

// Returns the snapshots on all pages. Only the first page may be empty.
std::vector<UsageSnapshot> AllUsage(ContractClient& store, const UsageFilter& filter,
                                    std::size_t limit = 1000) {
  return AllPages(limit, [&](const PageRequest& request) {
    auto page = store.ListUsage(filter, request);
    EXPECT_TRUE(!page || !page->items.empty() || (request.cursor.empty() && page->next.empty()));
    return page;
  });
}

// Fails if: an addition replaces the stored snapshot, or any of the three kinds of counters is
// lost.
TEST_P(StoreContract, UsageAddsUp) {
  const std::string acme = Fresh("acme");
  UsageSnapshot first = Hour(acme, "gpt-4", 5);
  first.used = {{"rpm", 2}, {"tpm", 1'000'000'000'000}};
  first.overdrawn = {{"tpm", 1}};
  UsageSnapshot second = Hour(acme, "gpt-4", 5);
  second.used = {{"tpm", -400}, {"cost.eur", 7}};
  second.overdrawn = {{"tpm", 2}, {"rpm", 1}};
  second.events = 3;
  ASSERT_TRUE(store_.AddUsage(first));
  ASSERT_TRUE(store_.AddUsage(second));
  UsageSnapshot both = first;
  both.used = {{"rpm", 2}, {"tpm", 999'999'999'600}, {"cost.eur", 7}};
  both.overdrawn = {{"tpm", 3}, {"rpm", 1}};
  both.events = 4;
  EXPECT_EQ(AllUsage(store_, Of(acme, "gpt-4")), std::vector{both});
}

// Fails if: snapshots that differ only in entity, resource, window or start are merged.
TEST_P(StoreContract, UsageIsKeptByEntityResourceAndWindow) {
  const std::string acme = Fresh("acme");
  const std::string globex = Fresh("globex");
  for (int time = 0; time < 2; ++time) {
    for (const UsageSnapshot& one :
         {Hour(acme, "gpt-4", 1), Hour(acme, "gpt-4", 2), Hour(acme, "gpt-5", 1),
          Hour(globex, "gpt-4", 1), Day(acme, "gpt-4", 1)}) {
      ASSERT_TRUE(store_.AddUsage(one));
    }
  }
  UsageSnapshot twice = Hour(globex, "gpt-4", 1);
  twice.used["rpm"] = 2;
  twice.events = 2;
  EXPECT_EQ(AllUsage(store_, Of(globex)), std::vector{twice});
  EXPECT_EQ(AllUsage(store_, Of(acme)).size(), 4U);
  EXPECT_EQ(AllUsage(store_, Of(acme, "gpt-5")).size(), 1U);
  UsageFilter days = Of(acme);
  days.window = UsageWindow::kDaily;
  EXPECT_EQ(AllUsage(store_, days).size(), 1U);
  EXPECT_TRUE(AllUsage(store_, Of(Fresh("nobody"))).empty());
}

// Fails if: the hour at 00:00, its day and its month are one snapshot, as in zae-limiter's table.
TEST_P(StoreContract, UsageOfWindowsWithOneStartIsKeptApart) {
  const std::string acme = Fresh("acme");
  std::vector<UsageSnapshot> all(3, Hour(acme, "gpt-4", 0));
  all[1].window = UsageWindow::kDaily;
  all[2].window = UsageWindow::kMonthly;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].used["rpm"] = static_cast<std::int64_t>(i) + 1;
    ASSERT_TRUE(store_.AddUsage(all[i]));
  }
  for (const std::size_t limit : {1U, 1000U}) {
    auto listed = AllUsage(store_, Of(acme, "gpt-4"), limit);
    std::ranges::sort(listed, {}, &UsageSnapshot::window);
    EXPECT_EQ(listed, all) << limit;
  }
}

// Fails if: a window that begins exactly at a bound is left out, or a page is cut before the
// filter.
TEST_P(StoreContract, UsageIsFoundByTimeTheNewestFirstInPagesOfAnySize) {
  const std::string acme = Fresh("acme");
  std::vector<UsageSnapshot> hours;
  for (int hour = 9; hour >= 1; --hour) hours.push_back(Hour(acme, "gpt-4", hour));
  for (const std::size_t i : {4U, 0U, 8U, 2U, 6U, 1U, 7U, 3U, 5U}) {
    ASSERT_TRUE(store_.AddUsage(hours[i]));
  }
  ASSERT_TRUE(store_.AddUsage(Hour(Fresh("other"), "gpt-5", 4)));
  UsageFilter filter = Of(acme, "gpt-4");
  filter.from = kNewYear + 3 * kHour;
  filter.until = kNewYear + 7 * kHour;
  const std::vector<UsageSnapshot> middle(hours.begin() + 2, hours.begin() + 7);
  for (const std::size_t limit : {1U, 2U, 5U, 1000U}) {
    EXPECT_EQ(AllUsage(store_, Of(acme, "gpt-4"), limit), hours) << limit;
    EXPECT_EQ(AllUsage(store_, filter, limit), middle) << limit;
  }
}

// Fails if: entities that used a resource in the same hour hide each other, or a listing in pages
// loses one.
TEST_P(StoreContract, UsageOfAResourceIsFoundOverAllEntities) {
  std::vector<UsageSnapshot> all;
  for (const char* stem : {"acme", "globex", "initech"}) {
    const std::string entity = Fresh(stem);
    for (int hour = 1; hour <= 2; ++hour) all.push_back(Hour(entity, "gpt-9", hour));
    ASSERT_TRUE(store_.AddUsage(Hour(entity, "gpt-8", 1)));
  }
  for (const UsageSnapshot& one : all) ASSERT_TRUE(store_.AddUsage(one));
  UsageFilter filter;
  filter.resource = "gpt-9";
  const auto by_name = [](const UsageSnapshot& one) {
    return std::pair(-one.start.value, one.entity);
  };
  std::ranges::sort(all, {}, by_name);
  for (const std::size_t limit : {1U, 2U, 4U, 1000U}) {
    auto listed = AllUsage(store_, filter, limit);
    EXPECT_TRUE(std::ranges::is_sorted(listed, std::greater(), &UsageSnapshot::start));
    std::ranges::sort(listed, {}, by_name);
    EXPECT_EQ(listed, all) << limit;
  }
}

// Fails if: the resources of one entity are mixed.
TEST_P(StoreContract, UsageOfAnEntityComesResourceByResource) {
  const std::string acme = Fresh("acme");
  for (const char* resource : {"gpt-4", "gpt-5", "gpt-6"}) {
    for (int hour = 1; hour <= 2; ++hour) {
      ASSERT_TRUE(store_.AddUsage(Hour(acme, resource, hour)));
    }
  }
  for (const std::size_t limit : {1U, 4U, 1000U}) {
    const auto listed = AllUsage(store_, Of(acme), limit);
    ASSERT_EQ(listed.size(), 6U);
    for (std::size_t i = 0; i < 6; i += 2) {
      EXPECT_EQ(listed[i].resource, listed[i + 1].resource);
      EXPECT_GT(listed[i].start, listed[i + 1].start);
    }
  }
}

// Fails if: a snapshot whose start begins no window, or whose names another store could not keep,
// is added.
TEST_P(StoreContract, BadUsageIsRefusedAndAddsNothing) {
  const UsageSnapshot good = Hour(Fresh("acme"), "gpt-4", 1);
  const auto refused = [&](auto change) {
    UsageSnapshot snapshot = good;
    change(snapshot);
    return ErrorOf(store_.AddUsage(snapshot)).code;
  };
  using S = UsageSnapshot;
  EXPECT_EQ(refused([](S& s) { s.entity = "a#b"; }), Code::kInvalidArgument);
  EXPECT_EQ(refused([](S& s) { s.resource = "a b"; }), Code::kInvalidArgument);
  EXPECT_EQ(refused([](S& s) { s.used = {{"wcu", 1}}; }), Code::kInvalidArgument);
  EXPECT_EQ(refused([](S& s) { s.overdrawn = {{"", 1}}; }), Code::kInvalidArgument);
  EXPECT_EQ(refused([](S& s) { s.start = s.start + milliseconds(1); }), Code::kInvalidArgument);
  EXPECT_EQ(refused([](S& s) { s.window = UsageWindow::kDaily; }), Code::kInvalidArgument);
  EXPECT_EQ(refused([](S& s) {
              s.window = UsageWindow::kMonthly;
              s.start = kNewYear + 24 * kHour;
            }),
            Code::kInvalidArgument);
  EXPECT_TRUE(AllUsage(store_, Of(good.entity)).empty());
}

// Fails if: a listing accepts an empty filter, or a cursor of another listing.
TEST_P(StoreContract, ListingOfUsageRefusesBadFiltersAndPages) {
  const std::string acme = Fresh("acme");
  for (int hour = 1; hour <= 2; ++hour) ASSERT_TRUE(store_.AddUsage(Hour(acme, "gpt-4", hour)));
  const auto code = [&](UsageFilter filter, PageRequest page) {
    return ErrorOf(store_.ListUsage(std::move(filter), std::move(page))).code;
  };
  const auto first = store_.ListUsage(Of(acme, "gpt-4"), {.cursor = {}, .limit = 1});
  ASSERT_TRUE(first && !first->next.empty());
  EXPECT_EQ(code({}, {}), Code::kInvalidArgument);
  EXPECT_EQ(code(Of("a#b"), {}), Code::kInvalidArgument);
  EXPECT_EQ(code(Of(acme, "a b"), {}), Code::kInvalidArgument);
  EXPECT_EQ(code(Of(acme), {.cursor = {}, .limit = 0}), Code::kInvalidArgument);
  EXPECT_EQ(code(Of(acme), {.cursor = "no cursor", .limit = 1}), Code::kInvalidArgument);
  EXPECT_EQ(code(Of(acme), {.cursor = "\n", .limit = 1}), Code::kInvalidArgument);
  EXPECT_EQ(code(Of(acme, "gpt-5"), {.cursor = first->next, .limit = 1}), Code::kInvalidArgument);
}

}  // namespace
}  // namespace weir
