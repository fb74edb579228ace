// Releases by id, and by the end of a slot's resource.
#include "weir/store/testing/reservation/reservation_contract.h"

namespace weir {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr auto kHour = std::chrono::hours(1);

TEST_P(ReservationContract, AReleaseFreesTheSlotOnce) {
  const AccountKey key = FreshKey();
  const HeldSlot slot = Hold(key, 1, start_);
  EXPECT_EQ(store_.Release(RefOf(slot), start_ + 1s), true);
  EXPECT_EQ(store_.Release(RefOf(slot), start_ + 1s), false);
  EXPECT_EQ(CountHeld(key, start_ + 1s), 0U);
  Hold(key, 1, start_ + 1s);
  EXPECT_EQ(store_.Release(RefOf(slot), start_ + 2s), false);
  EXPECT_FALSE(HasRoom(key, 1, start_ + 2s)) << "a third release freed the slot of another";
  EXPECT_EQ(store_.Release(FreshSlot(key), start_ + 2s), false);
}

// rate-limiter-py deletes whatever slot is then stored under the reservation's key.
TEST_P(ReservationContract, AReleaseInAnOldNameFreesNothing) {
  const AccountKey key = FreshKey();
  const HeldSlot old = Bind(Hold(key, 1, start_), Fresh("j"), start_);
  EXPECT_EQ(store_.Release(RefOf(old), old.expires), false) << "it has expired";
  const HeldSlot next = Hold(key, 1, FreeAt(old));
  EXPECT_EQ(store_.Release(RefOf(old), next.claimed), false);
  EXPECT_EQ(HeldIds(key, next.claimed), std::vector{next.id});
  EXPECT_FALSE(HasRoom(key, 1, next.claimed));
}

// R3. Fails if: the check whether the slot is bound comes before the release as a separate step, or
// is missing.
TEST_P(ReservationContract, AReleaseOfUnboundSlotsLeavesABoundOne) {
  const AccountKey key = FreshKey();
  const HeldSlot unbound = Hold(key, 2, start_);
  const HeldSlot bound = Bind(Hold(key, 2, start_), Fresh("j"), start_);
  EXPECT_EQ(store_.ReleaseUnbound(RefOf(bound), start_ + 1s), false);
  EXPECT_EQ(store_.ReleaseUnbound(RefOf(unbound), start_ + 1s), true);
  EXPECT_EQ(store_.ReleaseUnbound(RefOf(unbound), start_ + 1s), false) << "it is not held any more";
  EXPECT_EQ(store_.ReleaseUnbound(FreshSlot(key), start_ + 1s), false);
  EXPECT_EQ(HeldIds(key, start_ + 1s), std::vector{bound.id});
  EXPECT_TRUE(HasRoom(key, 2, start_ + 1s));
}

TEST_P(ReservationContract, BadReleasesAreRefused) {
  const AccountKey key = FreshKey();
  EXPECT_EQ(ErrorOf(store_.Release({.key = key, .id = ""}, start_)).code, Code::kInvalidArgument);
  EXPECT_EQ(
      ErrorOf(store_.Release({.key = {.resource = "r", .account = ""}, .id = "i"}, start_)).code,
      Code::kInvalidArgument);
  EXPECT_EQ(ErrorOf(store_.ReleaseUnbound({.key = key, .id = ""}, start_)).code,
            Code::kInvalidArgument);
  EXPECT_EQ(ErrorOf(store_.ReleaseResource({.resource_id = "", .ended_at = start_}, start_)).code,
            Code::kInvalidArgument);
}

// Fails if: only the first slot of the resource is found (as by rate-limiter-py), or only those of
// one key.
TEST_P(ReservationContract, AnEndReleasesEverySlotOfTheThing) {
  const std::string ended = Fresh("j");
  const AccountKey one = FreshKey();
  const AccountKey two = FreshKey();
  for (int i = 0; i < 3; ++i) Bind(Hold(one, 5, start_), ended, start_);
  Bind(Hold(two, 5, start_), ended, start_);
  const HeldSlot other = Bind(Hold(one, 5, start_), Fresh("j"), start_);
  const HeldSlot unbound = Hold(two, 5, start_);
  harness_->Settle();

  const EndedResource end{.resource_id = ended, .ended_at = start_ + 10s};
  EXPECT_EQ(store_.ReleaseResource(end, start_ + 11s), 4U);
  EXPECT_EQ(HeldIds(one, start_ + 11s), std::vector{other.id});
  EXPECT_EQ(HeldIds(two, start_ + 11s), std::vector{unbound.id});
  harness_->Settle();
  EXPECT_EQ(store_.ReleaseResource(end, start_ + 12s), 0U) << "the same event once more";
  EXPECT_EQ(CountHeld(one, start_ + 12s), 1U);
}

TEST_P(ReservationContract, AnEndReleasesExpiredSlotsOnlyInName) {
  const AccountKey key = FreshKey();
  const HeldSlot expired = Bind(Hold(key, 1, start_), Fresh("j"), start_);
  harness_->Settle();
  const EndedResource end{.resource_id = expired.resource_id, .ended_at = FreeAt(expired)};
  EXPECT_LE(store_.ReleaseResource(end, FreeAt(expired)).value_or(99), 1U);
  EXPECT_TRUE(HasRoom(key, 1, FreeAt(expired)));
}

// Fails if: a late or repeated event releases the slot of a later resource of the same name.
TEST_P(ReservationContract, AnEndDoesNotReachWhatWasClaimedLater) {
  const AccountKey key = FreshKey();
  const std::string name = Fresh("nightly");
  const HeldSlot earlier = Bind(Hold(key, 2, start_), name, start_);
  const UnixMillis ended_at = start_ + 10s;
  const HeldSlot later = Bind(Hold(key, 2, ended_at + 1001ms), name, start_ + 20s);
  harness_->Settle();
  const EndedResource end{.resource_id = name, .ended_at = ended_at};
  EXPECT_EQ(store_.ReleaseResource(end, start_ + 21s), 1U);
  EXPECT_EQ(HeldIds(key, start_ + 21s), std::vector{later.id});
  EXPECT_EQ(store_.Release(RefOf(earlier), start_ + 21s), false);
}

// rate-limiter-py ignores such an event: the slot then stays taken until it expires.
TEST_P(ReservationContract, AnEndThatComesBeforeTheBindingIsRemembered) {
  const AccountKey key = FreshKey();
  const std::string cluster = Fresh("j");
  const HeldSlot slot = Hold(key, 1, start_);
  const EndedResource end{
      .resource_id = cluster, .ended_at = start_ + 5s, .remember_until = start_ + kHour};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(store_.ReleaseResource(end, start_ + 6s), 0U);
  EXPECT_EQ(CountHeld(key, start_ + 6s), 1U);

  const Error error = ErrorOf(store_.Bind(RefOf(slot), cluster, kSlotLife, start_ + 7s));
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
  EXPECT_NE(error.message.find("ended"), std::string::npos) << error.message;
  EXPECT_EQ(CountHeld(key, start_ + 7s), 0U);
  EXPECT_TRUE(HasRoom(key, 1, start_ + 7s));
  EXPECT_EQ(store_.Release(RefOf(slot), start_ + 7s), false);
  EXPECT_EQ(store_.ReleaseResource(end, start_ + 8s), 0U);
}

// R7. Fails if: an end that released a slot is not remembered: a second slot that is bound to the
// same resource afterwards would be held until it expires.
TEST_P(ReservationContract, R7AnEndThatReleasedASlotIsRememberedToo) {
  const AccountKey key = FreshKey();
  const std::string cluster = Fresh("j");
  Bind(Hold(key, 2, start_), cluster, start_ + 1s);
  const HeldSlot second = Hold(key, 2, start_ + 2s);
  harness_->Settle();
  const EndedResource end{
      .resource_id = cluster, .ended_at = start_ + 5s, .remember_until = start_ + kHour};
  EXPECT_EQ(store_.ReleaseResource(end, start_ + 6s), 1U);
  EXPECT_EQ(HeldIds(key, start_ + 6s), std::vector{second.id});
  EXPECT_EQ(ErrorOf(store_.Bind(RefOf(second), cluster, kSlotLife, start_ + 7s)).code,
            Code::kFailedPrecondition);
  EXPECT_EQ(CountHeld(key, start_ + 7s), 0U);
  // A later resource of the same name.
  Bind(Hold(key, 1, start_ + 8s), cluster, start_ + 9s);
  EXPECT_EQ(CountHeld(key, start_ + 9s), 1U);
}

TEST_P(ReservationContract, ARememberedEndMeansNoOtherThing) {
  const AccountKey key = FreshKey();
  const EndedResource end{
      .resource_id = Fresh("j"), .ended_at = start_ + 5s, .remember_until = start_ + kHour};
  const HeldSlot slot = Hold(key, 2, start_);
  ASSERT_EQ(store_.ReleaseResource(end, start_ + 6s), 0U);
  Bind(slot, Fresh("j"), start_ + 7s);
  // A later resource of the same name.
  Bind(Hold(key, 2, start_ + 7s), end.resource_id, start_ + 8s);
  EXPECT_EQ(CountHeld(key, start_ + 8s), 2U);
}

TEST_P(ReservationContract, AnEndIsRememberedAsLongAsWasAsked) {
  const AccountKey key = FreshKey();
  EndedResource end{
      .resource_id = Fresh("j"), .ended_at = start_ + 5s, .remember_until = start_ + 30s};
  const HeldSlot early = Hold(key, 2, start_);
  const HeldSlot late = Hold(key, 2, start_);
  ASSERT_EQ(store_.ReleaseResource(end, start_ + 6s), 0U);
  EXPECT_EQ(ErrorOf(store_.Bind(RefOf(early), end.resource_id, kSlotLife, start_ + 29s)).code,
            Code::kFailedPrecondition);
  Bind(late, end.resource_id, start_ + 31s);
}

TEST_P(ReservationContract, AnEndThatIsNotToBeRememberedIsNot) {
  const AccountKey key = FreshKey();
  const std::string cluster = Fresh("j");
  const HeldSlot slot = Hold(key, 1, start_);
  for (const UnixMillis until : {UnixMillis{0}, start_ + 6s}) {
    const EndedResource end{
        .resource_id = cluster, .ended_at = start_ + 5s, .remember_until = until};
    EXPECT_EQ(store_.ReleaseResource(end, start_ + 6s), 0U);
  }
  Bind(slot, cluster, start_ + 6s);
}

}  // namespace
}  // namespace weir
