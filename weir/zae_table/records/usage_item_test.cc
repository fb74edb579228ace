#include "weir/zae_table/records/usage_item.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/codec/iso_time.h"

namespace weir::dynamo {
namespace {

const Keys kUsageKeys("ns");
constexpr UnixMillis kMonthStart{1'767'225'600'000};  // 2026-01-01T00:00:00Z

UsageKey UsageOf(UsageWindow window) { return {"acme", "models/gpt-4", window, kMonthStart}; }

// Fails if: windows with the same start share an item in the table or an entry in GSI2.
TEST(UsageItem, WindowsWithOneStartHaveKeysOfTheirOwn) {
  const auto sort = [](UsageWindow window) { return KeyOfUsage(kUsageKeys, UsageOf(window)).sk; };
  EXPECT_EQ(sort(UsageWindow::kHourly), "#USAGE#models/gpt-4#2026-01-01T00:00:00Z");
  EXPECT_EQ(sort(UsageWindow::kDaily), "#USAGE#models/gpt-4#2026-01-01T00:00:00Z#daily");
  EXPECT_EQ(sort(UsageWindow::kMonthly), "#USAGE#models/gpt-4#2026-01-01T00:00:00Z#monthly");
  const auto index = [](UsageWindow window) { return IndexSortOfUsage(UsageOf(window), false); };
  EXPECT_EQ(index(UsageWindow::kHourly), "USAGE#2026-01-01T00:00:00Z#acme");
  EXPECT_EQ(index(UsageWindow::kMonthly), "USAGE#2026-01-01T00:00:00Z#acme#monthly");
}

// Returns an item that zae-limiter's aggregator wrote.
Item PeerItem(std::string_view window, const std::string& start) {
  Item item = ToItem({"ns/ENTITY#acme", "#USAGE#api#" + start});
  for (const auto& [name, value] : {std::pair{"entity_id", Of("acme")},
                                    {"resource", Of("api")},
                                    {"window", Of(window)},
                                    {"window_start", Of(start)},
                                    {"total_events", Of(2)},
                                    {"ttl", Of(1)},
                                    {"rpm", Of(5)}}) {
    item.emplace(name, value);
  }
  return item;
}

TEST(UsageItem, AnItemThatMayHoldSeveralWindowsIsMixed) {
  const auto is_mixed = [](std::string_view window, const std::string& start) {
    return ReadUsage(PeerItem(window, start))->mixed;
  };
  EXPECT_FALSE(is_mixed("hourly", "2026-01-01T05:00:00Z"));
  EXPECT_TRUE(is_mixed("hourly", "2026-01-01T00:00:00Z"));
  EXPECT_TRUE(is_mixed("daily", "2026-01-01T00:00:00Z"));
}

// Fails if: a limit replaces an attribute of the item, and so its counts, or the item itself.
TEST(UsageItem, ALimitNamedLikeAnAttributeIsCountedUnderAnAlias) {
  Item item = PeerItem("hourly", "2026-01-01T05:00:00Z");
  for (const char* limit : {"PK", "SK", "entity_id", "resource", "window", "window_start", "ttl",
                            "total_events", "GSI2PK", "GSI4SK", "LSI1SK", "w_rem", "w_s0"}) {
    const std::string attribute = CounterAttribute(limit);
    EXPECT_NE(attribute, limit);
    item.emplace(attribute, Of(7));
    EXPECT_EQ(ReadUsage(item)->used.at(limit), 7);
  }
  EXPECT_EQ(CounterAttribute("rpm"), "rpm");
  item.emplace(OverdrawnAttribute("ttl"), Of(3));
  EXPECT_EQ(ReadUsage(item)->overdrawn.at("ttl"), 3);
  EXPECT_EQ(ReadUsage(item)->events, 2);
}

TEST(UsageItem, AttributesForTheAggregatorAreNoCounters) {
  Item item = PeerItem("hourly", "2026-01-01T05:00:00Z");
  item.emplace("w_s0", Of(std::string(40, '0')));
  item.emplace("w_rem", Of("rpm=500"));
  EXPECT_EQ(ReadUsage(item)->used, (decltype(UsageSnapshot::used){{"rpm", 5}}));
}

}  // namespace
}  // namespace weir::dynamo
