// Limits of accounts.
#include <algorithm>
#include <map>

#include "weir/store/testing/reservation/reservation_contract.h"

namespace weir {
namespace {

using std::chrono_literals::operator""s;

using FoundLimit = std::optional<AccountLimitRow>;

std::vector<AccountKey> KeysOf(const std::vector<AccountLimitRow>& rows) {
  std::vector<AccountKey> keys;
  for (const AccountLimitRow& row : rows) keys.push_back(row.key);
  return keys;
}

TEST_P(AccountLimitContract, ARowIsPutChangedAndDeleted) {
  const AccountLimitRow row = FreshRow(Fresh("service"));
  EXPECT_EQ(Get(row.key), FoundLimit());
  ASSERT_TRUE(store_.Change(PutAccountLimit{.row = row, .seen = {}}));
  EXPECT_EQ(Get(row.key), FoundLimit(row));

  AccountLimitRow changed = row;
  changed.limit = {.limit = 0, .window = 0s};
  changed.service = Fresh("service");
  ASSERT_TRUE(store_.Change(PutAccountLimit{.row = changed, .seen = row}));
  EXPECT_EQ(Get(row.key), FoundLimit(changed));

  ASSERT_TRUE(store_.Change(DeleteAccountLimit{.seen = changed}));
  EXPECT_EQ(Get(row.key), FoundLimit());
}

// Fails if: of two clients that change a row, the later one succeeds without having seen the
// earlier change.
TEST_P(AccountLimitContract, AChangeOfWhatIsNotAsSeenIsAborted) {
  const AccountLimitRow row = FreshRow(Fresh("service"));
  AccountLimitRow mine = row;
  mine.limit.limit = 11;
  const auto code = [&](const AccountLimitChange& change) {
    return ErrorOf(store_.Change(change)).code;
  };
  EXPECT_EQ(code(PutAccountLimit{.row = mine, .seen = row}), Code::kAborted) << "there is none";
  EXPECT_EQ(Get(row.key), FoundLimit());

  ASSERT_TRUE(store_.Change(PutAccountLimit{.row = row, .seen = {}}));
  EXPECT_EQ(code(PutAccountLimit{.row = mine, .seen = {}}), Code::kAborted);
  std::vector<AccountLimitRow> stale(3, row);
  stale[0].limit.limit += 1;
  stale[1].limit.window += 1s;
  stale[2].service += "2";
  for (const AccountLimitRow& seen : stale) {
    EXPECT_EQ(code(PutAccountLimit{.row = mine, .seen = seen}), Code::kAborted);
    EXPECT_EQ(code(DeleteAccountLimit{.seen = seen}), Code::kAborted);
  }
  EXPECT_EQ(Get(row.key), FoundLimit(row));
}

// Fails if: a change that is repeated after its response was lost fails.
TEST_P(AccountLimitContract, TheSameChangeAgainIsMadeAlready) {
  const AccountLimitRow row = FreshRow(Fresh("service"));
  AccountLimitRow changed = row;
  changed.limit.window = 61s;
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(store_.Change(PutAccountLimit{.row = row, .seen = {}}));
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(store_.Change(PutAccountLimit{.row = changed, .seen = row}));
  }
  EXPECT_EQ(Get(row.key), FoundLimit(changed));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(store_.Change(DeleteAccountLimit{.seen = changed}));
  EXPECT_EQ(Get(row.key), FoundLimit());
}

// Fails if: rows of another service are listed, a row stays listed under a service that no longer
// owns it, or keys that are equal when joined count as one.
TEST_P(AccountLimitContract, RowsOfAServiceAreListedInOrderOfTheirKeys) {
  const std::string service = Fresh("service");
  const std::string stem = Fresh("r");
  std::vector<AccountLimitRow> rows;
  for (const AccountKey& key :
       {AccountKey{stem + "c", "a"}, AccountKey{stem + "a", "b:c"}, AccountKey{stem + "a:b", "c"},
        AccountKey{stem + "ab", "c"}, AccountKey{stem + "a", "bc"}}) {
    rows.push_back({.key = key,
                    .limit = {.limit = static_cast<std::int64_t>(rows.size()), .window = 10s},
                    .service = service});
    ASSERT_TRUE(store_.Change(PutAccountLimit{.row = rows.back(), .seen = {}}));
  }
  const AccountLimitRow foreign = FreshRow(service + "2");
  ASSERT_TRUE(store_.Change(PutAccountLimit{.row = foreign, .seen = {}}));
  std::ranges::sort(rows, {}, &AccountLimitRow::key);
  harness_->Settle();
  EXPECT_EQ(store_.LimitKeysOf(service), KeysOf(rows));

  AccountLimitRow taken_over = rows.front();
  taken_over.service = foreign.service;
  ASSERT_TRUE(store_.Change(PutAccountLimit{.row = taken_over, .seen = rows.front()}));
  ASSERT_TRUE(store_.Change(DeleteAccountLimit{.seen = rows.back()}));
  rows.erase(rows.begin());
  rows.pop_back();
  harness_->Settle();
  EXPECT_EQ(store_.LimitKeysOf(service), KeysOf(rows));
  EXPECT_EQ(store_.LimitKeysOf(Fresh("nobody")), std::vector<AccountKey>());
}

TEST_P(AccountLimitContract, LimitsAreKeptAsFarAsTheyAreExact) {
  for (const AccountLimit& limit :
       {AccountLimit{.limit = kMaxAccountTokens, .window = kLongestWindow},
        AccountLimit{.limit = -1, .window = 0s}, AccountLimit{.limit = 1, .window = 1s}}) {
    AccountLimitRow row = FreshRow("");
    row.limit = limit;
    ASSERT_TRUE(store_.Change(PutAccountLimit{.row = row, .seen = {}}));
    EXPECT_EQ(Get(row.key), FoundLimit(row));
  }
}

TEST_P(AccountLimitContract, BadRowsAndKeysAreRefusedAndChangeNothing) {
  const AccountLimitRow good = FreshRow(Fresh("service"));
  std::vector<AccountLimitRow> bad(7, good);
  bad[0].key.resource = "";
  bad[1].key.account = "";
  bad[2].key.account = std::string(256, 'a');
  bad[3].limit.limit = kMaxAccountTokens + 1;
  bad[4].limit.window = -1s;
  bad[5].limit.window = kLongestWindow + 1s;
  bad[6].service = std::string(2049, 's');
  for (const AccountLimitRow& row : bad) {
    EXPECT_EQ(ErrorOf(store_.Change(PutAccountLimit{.row = row, .seen = {}})).code,
              Code::kInvalidArgument)
        << testing::PrintToString(row);
  }
  const Status moved = store_.Change(PutAccountLimit{.row = good, .seen = FreshRow(good.service)});
  EXPECT_EQ(ErrorOf(moved).code, Code::kInvalidArgument) << "a row of another key was seen";
  EXPECT_EQ(ErrorOf(store_.GetLimit(bad[0].key)).code, Code::kInvalidArgument);
  EXPECT_EQ(ErrorOf(store_.Change(DeleteAccountLimit{.seen = bad[1]})).code,
            Code::kInvalidArgument);
  EXPECT_EQ(ErrorOf(store_.LimitKeysOf("")).code, Code::kInvalidArgument);
  EXPECT_EQ(Get(good.key), FoundLimit());
}

// Fails if: a row that differs from the one that was seen is changed, or one that is equal is not.
TEST_P(AccountLimitContract, AnySequenceOfChangesAgreesWithAMap) {
  CheckProperty([this] {
    const std::string stem = Fresh("r");
    std::map<int, FoundLimit> model;
    const auto any_row = [&](int key) {
      return AccountLimitRow{.key = {.resource = stem, .account = std::to_string(key)},
                             .limit = {.limit = *rc::gen::inRange(0, 2), .window = 10s},
                             .service = "s"};
    };
    for (int step = 0; step < 12; ++step) {
      const int key = *rc::gen::inRange(0, 2);
      const AccountLimitRow other = any_row(key);
      const bool right = *rc::gen::arbitrary<bool>();
      const FoundLimit seen = right ? model[key] : other;
      FoundLimit wished;
      if (!seen || *rc::gen::arbitrary<bool>()) wished = any_row(key);
      const AccountLimitChange change =
          wished ? AccountLimitChange(PutAccountLimit{.row = *wished, .seen = seen})
                 : AccountLimitChange(DeleteAccountLimit{.seen = *seen});
      const Status made = store_.Change(change);
      const bool may = model[key] == seen || model[key] == wished;
      RC_ASSERT(made.has_value() == may);
      if (!made) RC_ASSERT(made.error().code == Code::kAborted);
      if (made) model[key] = wished;
      RC_ASSERT(Get(other.key) == model[key]);
    }
  });
}

}  // namespace
}  // namespace weir
