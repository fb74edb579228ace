#include "weir/base/lru_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/rng.h"

namespace weir {
namespace {

TEST(LruMap, EvictsTheEntryThatWasNotUsedForTheLongestTime) {
  LruMap<std::string, int> map(2);
  map.Put("a", 1);
  map.Put("b", 2);
  EXPECT_EQ(*map.Find("a"), 1);
  map.Put("c", 3);
  EXPECT_EQ(map.Find("b"), nullptr);
  EXPECT_EQ(*map.Find("a"), 1);
  EXPECT_EQ(*map.Find("c"), 3);
}

TEST(LruMap, WithoutCapacityItStoresNothing) {
  LruMap<int, int> map(0);
  map.Put(1, 1);
  EXPECT_EQ(map.Find(1), nullptr);
  EXPECT_EQ(map.size(), 0U);
}

// Against a slow map: a list of pairs, the most recently used one first.
TEST(LruMap, BehavesAsAListThatIsSearched) {
  constexpr std::size_t kCapacity = 5;
  Rng rng(20261126);
  LruMap<int, int> map(kCapacity);
  std::vector<std::pair<int, int>> slow;
  const auto take = [&](int key) {
    const auto found = std::ranges::find(slow, key, &std::pair<int, int>::first);
    std::optional<int> value;
    if (found == slow.end()) return value;
    value = found->second;
    slow.erase(found);
    return value;
  };
  for (int i = 0; i < 10'000; ++i) {
    const int key = static_cast<int>(rng.Below(9));
    const std::uint64_t kind = rng.Below(5);
    if (kind == 0) {
      map.Erase(key);
      take(key);
    } else if (kind < 3) {
      map.Put(key, i);
      take(key);
      slow.insert(slow.begin(), {key, i});
      if (slow.size() > kCapacity) slow.pop_back();
    } else {
      const int* const found = map.Find(key);
      const std::optional<int> expected = take(key);
      ASSERT_EQ(found != nullptr, expected.has_value()) << i;
      if (expected) {
        EXPECT_EQ(*found, *expected) << i;
        slow.insert(slow.begin(), {key, *expected});
      }
    }
    ASSERT_EQ(map.size(), slow.size()) << i;
  }
}

}  // namespace
}  // namespace weir
