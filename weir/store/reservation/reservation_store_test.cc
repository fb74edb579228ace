// The names, ids and limits that every store of slots and limits accepts.
#include "weir/store/reservation/reservation_store.h"

#include <gtest/gtest.h>

#include "weir/store/reservation/account_limits.h"

namespace weir {
namespace {

TEST(AccountKey, NamesAreNeitherEmptyNorEndless) {
  EXPECT_TRUE(Check({.resource = "emr", .account = std::string(255, 'a')}));
  for (const AccountKey& key :
       {AccountKey{"", "acme"}, AccountKey{"emr", ""}, AccountKey{"emr", std::string(256, 'a')}}) {
    const Status checked = Check(key);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, Code::kInvalidArgument);
  }
}

// RFC 9562, 5.4: version 4 in the seventh byte, variant 10 in the ninth.
TEST(NewSlotId, IsAUuidBehindOurMark) {
  EXPECT_EQ(NewSlotId(0, 0), "w-00000000-0000-4000-8000-000000000000");
  EXPECT_EQ(NewSlotId(0xFFFF'FFFF'FFFF'FFFF, 0xFFFF'FFFF'FFFF'FFFF),
            "w-ffffffff-ffff-4fff-bfff-ffffffffffff");
  EXPECT_EQ(NewSlotId(0x0123'4567'89AB'CDEF, 0x0123'4567'89AB'CDEF),
            "w-01234567-89ab-4def-8123-456789abcdef");
}

TEST(AccountLimit, StaysWithinWhatIsExact) {
  const AccountKey key{"emr", "acme"};
  EXPECT_TRUE(Check(key, {.limit = kMaxAccountTokens, .window = kLongestWindow}));
  EXPECT_TRUE(Check(key, {.limit = -1})) << "blocked";
  EXPECT_FALSE(Check(key, {.limit = kMaxAccountTokens + 1}));
  EXPECT_FALSE(Check(key, {.limit = 1, .window = kLongestWindow + std::chrono::seconds(1)}));
  EXPECT_FALSE(Check(key, {.limit = 1, .window = std::chrono::seconds(-1)}));
}

}  // namespace
}  // namespace weir
