#include "weir/bucket/key_table.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "weir/bucket/testing/arbitrary.h"

namespace weir {
namespace {

const HashSecret kSecret = HashSecret::From(5);

std::uint64_t HashOf(std::uint64_t key) { return KeyHash<std::uint64_t>()(key, kSecret); }

TEST(KeyHash, SpreadsRegularIntegersEvenly) {
  for (const int shift : {0, 3, 12, 32, 40, 47}) {
    std::vector<int> stripe(256, 0);
    std::vector<int> group(256, 0);
    for (std::uint64_t i = 0; i < 65'536; ++i) {
      const std::uint64_t hash = KeyHash<std::uint64_t>()(i << shift, kSecret);
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
  const std::uint64_t hash = HashBytes(text, kSecret);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    ++other[i];
    EXPECT_NE(HashBytes(other, kSecret), hash) << i;
    EXPECT_NE(HashBytes(std::string_view(text).substr(0, i), kSecret), hash) << i;
  }
  EXPECT_NE(HashBytes(text, HashSecret::From(6)), hash);
  EXPECT_NE(HashBytes(std::string_view("\0", 1), kSecret), HashBytes("", kSecret));
}

// C6: a block equal to a constant of the hash made a factor 0, so the hash lost everything before
// that block.
TEST(KeyHash, C6NoKnownBlockMakesTheHashForgetThePrefix) {
  for (const std::uint64_t known : {0xe7037ed1a0b428dbU, 0x589965cc75374cc3U, 0xa0761d6478bd642fU,
                                    0x8ebc6af09c88c6e3U, 0x9e3779b97f4a7c15U}) {
    std::string block(8, '\0');
    std::memcpy(block.data(), &known, 8);
    std::set<std::uint64_t> hashes;
    for (int i = 0; i < 1000; ++i) {
      const std::string prefix = std::to_string(10'000'000 + i);
      hashes.insert(KeyHash<std::string>()(prefix + block, kSecret));
      hashes.insert(KeyHash<std::string>()(prefix + block + "end", kSecret));
    }
    EXPECT_EQ(hashes.size(), 2000U) << known;
  }
}

TEST(KeyHash, C6EveryWordOfTheSecretCountsAndComesFromTheSeed) {
  const std::string text = "a key of more than two words";
  const std::uint64_t hash = HashBytes(text, kSecret);
  for (auto word : {&HashSecret::start, &HashSecret::start_times, &HashSecret::state,
                    &HashSecret::block, &HashSecret::last_state, &HashSecret::last_block}) {
    HashSecret other = kSecret;
    other.*word ^= 2;
    EXPECT_NE(HashBytes(text, other), hash);
    EXPECT_NE(HashSecret::From(6).*word, kSecret.*word);
  }
  EXPECT_EQ(HashBytes(text, HashSecret::From(5)), hash);
}

TEST(HashNames, EachPartCountsAndItsPlaceToo) {
  const std::set<std::uint64_t> hashes = {
      HashNames("ab", "c"),   HashNames("a", "bc"),   HashNames("c", "ab"), HashNames("ab", "c", 1),
      HashNames("ab", "", 1), HashNames("", "ab", 1), HashNames("", "")};
  EXPECT_EQ(hashes.size(), 7U);
  EXPECT_EQ(HashNames("ab", "c", 1), HashNames("ab", "c", 1));
  EXPECT_EQ(HashNames(std::string_view(), {}), HashNames("", ""));  // null pointers
}

// Fails if: the words are known, so that a client can choose names that collide.
TEST(HashNamesDeathTest, ReturnsOtherHashesInAnotherProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // starts this program again
  const std::string here = fmt::format("hash {};", HashNames("acme", "gpt-4"));
  EXPECT_EXIT(
      {
        fmt::print(stderr, "hash {};", HashNames("acme", "gpt-4"));
        std::exit(0);
      },
      testing::ExitedWithCode(0),
      testing::AllOf(testing::HasSubstr("hash "), testing::Not(testing::HasSubstr(here))));
}

// Fails if: the public words change. Stored fingerprints are made with them.
TEST(KeyHash, TheChecksumStaysWhatItIs) {
  EXPECT_EQ(HashBytes("", 1), 7506974337553516905U);
  EXPECT_EQ(HashBytes("fingerprint of a row", 1), 11442272596363317075U);
}

TEST(KeyTable, FindsNothingInAnEmptyTable) {
  KeyTable<std::uint64_t> table(100);
  EXPECT_EQ(table.Find(0, 0), nullptr);
  EXPECT_EQ(table.used(), 0);
}

TEST(KeyTable, KeyZeroIsAKeyLikeAnyOther) {
  KeyTable<std::uint64_t> table(100);
  for (std::uint64_t key = 0; key < 9; ++key)
    *table.Insert(key, HashOf(key), 1, kSecret) = 10 + key;
  for (std::uint64_t key = 0; key < 9; ++key) EXPECT_EQ(*table.Find(key, HashOf(key)), 10 + key);
  EXPECT_EQ(table.Find(9, HashOf(9)), nullptr);
  EXPECT_EQ(table.used(), 9);
}

TEST(KeyTable, GivesThePlaceOfAKeyThatIsPastToAnother) {
  KeyTable<std::uint64_t> table(100);
  constexpr std::uint64_t kHash = 7;  // the hash of all keys: their searches begin at the same slot
  for (std::uint64_t key = 1; key <= 3; ++key) *table.Insert(key, kHash, 1, kSecret) = 10 * key;
  const std::size_t bytes = table.bytes();
  *table.Insert(9, kHash, 20, kSecret) = 90;
  EXPECT_EQ(table.used(), 3);
  EXPECT_EQ(table.bytes(), bytes);
  EXPECT_EQ(*table.Find(3, kHash), 30);
  EXPECT_EQ(*table.Find(9, kHash), 90);
}

TEST(KeyTable, EqualHashesOfDifferentStringsAreNotConfused) {
  KeyTable<std::string> table(100);
  *table.Insert("one", 7, 1, kSecret) = 11;
  *table.Insert("two", 7, 1, kSecret) = 22;
  EXPECT_EQ(*table.Find("one", 7), 11);
  EXPECT_EQ(*table.Find("two", 7), 22);
  EXPECT_EQ(table.Find("three", 7), nullptr);
}

TEST(KeyTable, RebuildForgetsWhatIsPastAndShrinks) {
  KeyTable<std::uint64_t> table(10'000);
  for (std::uint64_t key = 1; key <= 5000; ++key) {
    *table.Insert(key, HashOf(key), 1, kSecret) = 100 + key;
  }
  const std::size_t bytes = table.bytes();
  EXPECT_EQ(table.Rebuild(5000, kSecret), 4900);
  EXPECT_EQ(table.used(), 100);
  EXPECT_LE(table.bytes(), bytes / 32);
}

TEST(KeyTable, RefusesOneMoreThanItsRoomUntilOneIsPast) {
  KeyTable<std::uint64_t> table(3);
  for (std::uint64_t key = 1; key <= 3; ++key)
    *table.Insert(key, HashOf(key), 1, kSecret) = 100 * key;
  EXPECT_EQ(table.Insert(4, HashOf(4), 99, kSecret), nullptr);
  EXPECT_EQ(table.used(), 3);
  std::uint64_t* word = table.Insert(4, HashOf(4), 100, kSecret);
  ASSERT_NE(word, nullptr);
  *word = 400;
  EXPECT_EQ(table.Insert(5, HashOf(5), 100, kSecret), nullptr);
  for (std::uint64_t key = 2; key <= 4; ++key) EXPECT_EQ(*table.Find(key, HashOf(key)), 100 * key);
}

// Fails if: keys that take the slots of other keys do not count against the bound.
TEST(KeyTable, C21NoMoreThanASixteenthBeyondTheRoomIsLetIn) {
  constexpr std::uint64_t kRoom = 1600;
  KeyTable<std::uint64_t> table(kRoom);
  std::uint64_t placed = 0;
  const auto fill = [&](std::uint64_t now) {
    for (int refused = 0; refused < 1000;) {
      std::uint64_t* const word = table.Insert(placed, HashOf(placed), now, kSecret);
      if (word == nullptr) {
        ++refused;
      } else {
        *word = placed++ < 10 ? 2 : 1'000'000;
      }
    }
    return placed;
  };
  EXPECT_EQ(fill(1), kRoom);
  EXPECT_LE(fill(3), kRoom + kRoom / 16) << "ten are past";
  EXPECT_GE(placed, kRoom + 10);
}

// C21: near the bound, a rebuild was due after each few insertions. Fails if: the budget after a
// rebuild is only the free capacity.
TEST(KeyTable, C21KeysThatComeAndGoNearTheRoomCostFewRebuilds) {
  constexpr std::uint32_t kRoom = 1600;
  KeyTable<std::uint64_t> table(kRoom);
  constexpr std::uint64_t kLifetime = kRoom - 16;  // the number of keys that are not past at a time
  std::size_t rebuilds = 0;
  for (std::uint64_t now = 1; now < 20 * kRoom; ++now) {
    const std::size_t before = table.used();
    std::uint64_t* word = table.Insert(now, HashOf(now), now, kSecret);
    ASSERT_NE(word, nullptr);
    *word = now + kLifetime;
    if (table.used() < before) ++rebuilds;
  }
  EXPECT_GT(rebuilds, 0U) << "otherwise nothing was tested";
  EXPECT_LT(rebuilds, 20 * 16U + 16) << "one for a sixteenth of the room";
}

// Fails if: a search skips a slot of its group, ends at a group that is full, or takes the slot of
// another key; if a key that is not past loses its slot; if a rebuild loses a key.
template <class Key>
void AgreesWithAMap(const std::vector<Key>& names, std::uint64_t hash_bits) {
  KeyTable<Key> table(1000);
  std::map<Key, std::uint64_t> model;
  std::uint64_t now = 1;
  const auto hash_of = [&](const Key& key) { return KeyHash<Key>()(key, kSecret) & hash_bits; };
  for (int i = 1 + UniformBelow(200); i > 0; --i) {
    const Key& key = names[static_cast<std::size_t>(UniformBelow(static_cast<int>(names.size())))];
    std::uint64_t* word = table.Find(key, hash_of(key));
    if (word == nullptr) {
      RC_ASSERT(model[key] <= now);
      word = table.Insert(key, hash_of(key), now, kSecret);
    } else {
      RC_ASSERT(*word == model[key]);
    }
    *word = model[key] = now + static_cast<std::uint64_t>(1 + UniformBelow(100));
    now += static_cast<std::uint64_t>(UniformBelow(5));
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
