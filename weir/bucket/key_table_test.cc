#include "weir/bucket/key_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "weir/bucket/arbitrary.h"

namespace weir {
namespace {

constexpr std::uint64_t kSeed = 5;

std::uint64_t HashOf(std::uint64_t key) { return KeyHash<std::uint64_t>()(key, kSeed); }

TEST(KeyHash, SpreadsRegularIntegersEvenly) {
  for (const int shift : {0, 3, 12, 32, 40, 47}) {
    std::vector<int> stripe(256, 0);
    std::vector<int> group(256, 0);
    for (std::uint64_t i = 0; i < 65'536; ++i) {
      const std::uint64_t hash = KeyHash<std::uint64_t>()(i << shift, kSeed);
      ++stripe[hash >> 56];
      ++group[(hash >> 24) & 255];
    }
    for (const std::vector<int>& counts : {stripe, group}) {
      const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
      EXPECT_GT(*least, 128) << shift;
      EXPECT_LT(*most, 512) << shift;
    }
  }
}

TEST(KeyHash, DependsOnEveryByteTheLengthAndTheSeed) {
  const std::string text = "a key of more than two words";
  const std::uint64_t hash = HashBytes(text, kSeed);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    ++other[i];
    EXPECT_NE(HashBytes(other, kSeed), hash) << i;
    EXPECT_NE(HashBytes(std::string_view(text).substr(0, i), kSeed), hash) << i;
  }
  EXPECT_NE(HashBytes(text, kSeed + 1), hash);
  EXPECT_NE(HashBytes(std::string_view("\0", 1), kSeed), HashBytes("", kSeed));
}

TEST(KeyTable, FindsNothingInAnEmptyTable) {
  KeyTable<std::uint64_t> table(100);
  EXPECT_EQ(table.Find(0, 0), nullptr);
  EXPECT_EQ(table.used(), 0);
}

TEST(KeyTable, KeyZeroIsAKeyLikeAnyOther) {
  KeyTable<std::uint64_t> table(100);
  for (std::uint64_t key = 0; key < 9; ++key) *table.Place(key, HashOf(key), 1, kSeed) = 10 + key;
  for (std::uint64_t key = 0; key < 9; ++key) EXPECT_EQ(*table.Find(key, HashOf(key)), 10 + key);
  EXPECT_EQ(table.Find(9, HashOf(9)), nullptr);
  EXPECT_EQ(table.used(), 9);
}

TEST(KeyTable, GivesThePlaceOfAKeyThatIsPastToAnother) {
  KeyTable<std::uint64_t> table(100);
  for (std::uint64_t key = 1; key <= 3; ++key) *table.Place(key, HashOf(key), 1, kSeed) = 10 * key;
  const std::size_t bytes = table.bytes();
  *table.Place(9, HashOf(9), 20, kSeed) = 90;
  EXPECT_EQ(table.used(), 3);
  EXPECT_EQ(table.bytes(), bytes);
  EXPECT_EQ(*table.Find(3, HashOf(3)), 30);
  EXPECT_EQ(*table.Find(9, HashOf(9)), 90);
}

TEST(KeyTable, EqualHashesOfDifferentStringsAreNotConfused) {
  KeyTable<std::string> table(100);
  *table.Place("one", 7, 1, kSeed) = 11;
  *table.Place("two", 7, 1, kSeed) = 22;
  EXPECT_EQ(*table.Find("one", 7), 11);
  EXPECT_EQ(*table.Find("two", 7), 22);
  EXPECT_EQ(table.Find("three", 7), nullptr);
}

TEST(KeyTable, RebuildForgetsWhatIsPastAndShrinks) {
  KeyTable<std::uint64_t> table(10'000);
  for (std::uint64_t key = 1; key <= 5000; ++key) {
    *table.Place(key, HashOf(key), 1, kSeed) = 100 + key;
  }
  const std::size_t bytes = table.bytes();
  EXPECT_EQ(table.Rebuild(5000, kSeed), 4900);
  EXPECT_EQ(table.used(), 100);
  EXPECT_LE(table.bytes(), bytes / 32);
}

TEST(KeyTable, RefusesOneMoreThanItsRoomUntilOneIsPast) {
  KeyTable<std::uint64_t> table(3);
  for (std::uint64_t key = 1; key <= 3; ++key) *table.Place(key, HashOf(key), 1, kSeed) = 100 * key;
  EXPECT_EQ(table.Place(4, HashOf(4), 99, kSeed), nullptr);
  EXPECT_EQ(table.used(), 3);
  std::uint64_t* word = table.Place(4, HashOf(4), 100, kSeed);
  ASSERT_NE(word, nullptr);
  *word = 400;
  EXPECT_EQ(table.used(), 3);
}

// Fails if: a search passes over a slot of its group, ends at a group that is full, or takes the
// slot of another key; if a key that is not past loses its place; if a rebuild loses one.
template <class Key>
void AgreesWithAMap(const std::vector<Key>& names, std::uint64_t hash_bits) {
  KeyTable<Key> table(1000);
  std::map<Key, std::uint64_t> model;
  std::uint64_t now = 1;
  const auto hash_of = [&](const Key& key) { return KeyHash<Key>()(key, kSeed) & hash_bits; };
  for (int i = 1 + Below(200); i > 0; --i) {
    const Key& key = names[static_cast<std::size_t>(Below(static_cast<int>(names.size())))];
    std::uint64_t* word = table.Find(key, hash_of(key));
    if (word == nullptr) {
      RC_ASSERT(model[key] <= now);
      word = table.Place(key, hash_of(key), now, kSeed);
    } else {
      RC_ASSERT(*word == model[key]);
    }
    *word = model[key] = now + static_cast<std::uint64_t>(1 + Below(100));
    now += static_cast<std::uint64_t>(Below(5));
  }
}

RC_GTEST_PROP(KeyTableProperty, IntegersAgreeWithAMap, ()) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t key = 0; key < 100; ++key) keys.push_back(key * 3);
  AgreesWithAMap(keys, UINT64_MAX);
}

RC_GTEST_PROP(KeyTableProperty, StringsAgreeWithAMap, ()) {
  std::vector<std::string> keys;
  for (int key = 0; key < 100; ++key) keys.push_back(std::string("a rather long key ") + char(key));
  AgreesWithAMap(keys, 3);
}

}  // namespace
}  // namespace weir
