#include "weir/reservation/account_cache.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace weir {
namespace {

Instant At(std::int64_t nanos) { return {nanos}; }

AccountKey Key(const std::string& account) { return {"emr", account}; }

TEST(AccountCache, RemembersUntilTheInstantAndNotAtIt) {
  AccountCache<int> cache(10);
  cache.Put(Key("a"), 7, At(100));
  ASSERT_NE(cache.Find(Key("a"), At(99)), nullptr);
  EXPECT_EQ(*cache.Find(Key("a"), At(99)), 7);
  EXPECT_EQ(cache.Find(Key("a"), At(100)), nullptr);
  EXPECT_EQ(cache.size(), 0U) << "it left";
}

TEST(AccountCache, ResourceAndAccountAreNotRunTogether) {
  AccountCache<int> cache(10);
  cache.Put({"ab", "c"}, 1, At(100));
  EXPECT_EQ(cache.Find({"a", "bc"}, At(0)), nullptr);
  EXPECT_EQ(cache.Find({"c", "ab"}, At(0)), nullptr);
  EXPECT_NE(cache.Find({"ab", "c"}, At(0)), nullptr);
}

TEST(AccountCache, WithoutRoomItRemembersNothing) {
  AccountCache<int> cache(0);
  cache.Put(Key("a"), 7, At(100));
  EXPECT_EQ(cache.Find(Key("a"), At(0)), nullptr);
}

// A reference implementation: a list in the order of last use.
class Plain {
 public:
  explicit Plain(std::size_t capacity) : capacity_(capacity) {}

  std::optional<int> Find(const std::string& account, Instant now) {
    const auto found = Take(account);
    if (!found || found->expires <= now) return std::nullopt;
    used_.push_back(*found);
    return found->value;
  }
  void Put(const std::string& account, int value, Instant expires) {
    Take(account);
    if (used_.size() == capacity_) used_.erase(used_.begin());
    used_.push_back({account, value, expires});
  }
  std::size_t size() const { return used_.size(); }

 private:
  struct Entry {
    std::string account;
    int value;
    Instant expires;
  };
  std::optional<Entry> Take(const std::string& account) {
    for (auto at = used_.begin(); at != used_.end(); ++at) {
      if (at->account != account) continue;
      const Entry entry = *at;
      used_.erase(at);
      return entry;
    }
    return std::nullopt;
  }

  std::size_t capacity_;
  std::vector<Entry> used_;  ///< most recently used last
};

RC_GTEST_PROP(AccountCacheProperty, WhatWasNotUsedForTheLongestTimeLeaves, ()) {
  const auto capacity = *rc::gen::inRange<std::size_t>(1, 5);
  AccountCache<int> cache(capacity);
  Plain plain(capacity);
  std::int64_t now = 0;
  for (int i = 0; i < 60; ++i) {
    now += *rc::gen::inRange(0, 3);
    const std::string account(1, *rc::gen::inRange('a', 'h'));
    if (*rc::gen::arbitrary<bool>()) {
      const Instant expires = At(now + *rc::gen::inRange(1, 30));
      cache.Put(Key(account), i, expires);
      plain.Put(account, i, expires);
    } else {
      const int* found = cache.Find(Key(account), At(now));
      const auto expected = plain.Find(account, At(now));
      RC_ASSERT((found == nullptr) == !expected);
      if (found != nullptr) RC_ASSERT(*found == *expected);
    }
    RC_ASSERT(cache.size() == plain.size());
    RC_ASSERT(cache.size() <= capacity);
  }
}

}  // namespace
}  // namespace weir
