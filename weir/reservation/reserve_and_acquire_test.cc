#include "weir/reservation/reserve_and_acquire.h"

#include <stdexcept>

#include "weir/limiter/testing/probe_backend.h"
#include "weir/reservation/testing/reservation_fixture.h"
#include "weir/store/memory/memory_backend.h"

namespace weir {
namespace {

constexpr std::string_view kResource = "clusters-of-elastic-map-reduce-in-the-west";

struct BothOutcomeRecorder {
  int times = 0;
  Instant at;
  std::optional<Result<SlotAndRate>> outcome;
  std::size_t held = 0;  ///< slots held when the outcome was reported

  bool granted() const { return times == 1 && *outcome && (*outcome)->granted(); }
  bool refused() const { return times == 1 && *outcome && !(*outcome)->granted(); }
};

// The limits are two clusters at once and three starts a minute.
class ReserveAndAcquireTest : public ReservationFixture {
 protected:
  void SetUp() override {
    ASSERT_TRUE(
        rates_->Apply({Put(Level::System(), {{"starts", PerMinute(3)}})}, Deadline::Never()));
  }
  void TearDown() override {
    asked_.clear();
    rates_.reset();
    ReservationFixture::TearDown();
  }

  BothOutcomeRecorder& Start(std::optional<Deadline> wait_until = std::nullopt) {
    BothOutcomeRecorder& told = asked_.emplace_back();
    // The names are destroyed before the tokens are requested.
    const std::string account = "an account whose name is long enough to be on the heap";
    const std::string resource(kResource);
    ReserveAndAcquire({*limiter_, *rates_},
                      {.slot = {.resource = resource, .account = account, .default_limit = 2},
                       .rate = {.entity = "acme",
                                .resource = resource,
                                .amounts = {{"starts", 1}},
                                .wait = wait_until.has_value()}},
                      wait_until.value_or(Within(milliseconds(100))),
                      [&](Result<SlotAndRate> outcome) {
                        ++told.times;
                        told.at = Now();
                        told.held = held();
                        told.outcome = std::move(outcome);
                      });
    return told;
  }
  std::size_t held() {
    return Held(std::string(kResource), "an account whose name is long enough to be on the heap")
        .size();
  }
  /// Returns the whole starts that are left.
  std::int64_t starts() {
    auto outcome = rates_->Acquire(
        {.entity = "acme", .resource = kResource, .amounts = {{"starts", 0}}}, Deadline::Never());
    EXPECT_TRUE(outcome);
    return outcome ? outcome->decision().limits[0].available / 1'000 : -1;
  }

  std::list<BothOutcomeRecorder> asked_;
  std::unique_ptr<Backend> memory_backend_ = MakeMemoryBackend({}, &clock());
  ProbeBackend buckets_{*memory_backend_};
  std::unique_ptr<Limiter> rates_ =
      std::make_unique<Limiter>(buckets_, scheduler_, LimiterOptions{.seed = 1});
};

TEST_F(ReserveAndAcquireTest, BothAreThere) {
  BothOutcomeRecorder& told = Start();
  ASSERT_TRUE(told.granted());
  EXPECT_FALSE((*told.outcome)->slot_refusal());
  EXPECT_TRUE((*told.outcome)->decision()->admitted);
  Reservation reservation = std::move(**told.outcome).reservation();
  Lease lease = std::move(**told.outcome).lease();
  EXPECT_TRUE(lease.active());
  EXPECT_TRUE(reservation.Bind("j-1"));
  EXPECT_EQ(held(), 1U);
  EXPECT_EQ(starts(), 2);
}

TEST_F(ReserveAndAcquireTest, WithoutASlotNoTokensAreAskedFor) {
  Start();
  Start();
  const std::size_t asked = buckets_.acquires.size();
  const BothOutcomeRecorder& told = Start();
  ASSERT_TRUE(told.refused());
  ASSERT_TRUE((*told.outcome)->slot_refusal());
  EXPECT_EQ((*told.outcome)->slot_refusal()->limit, 2);
  EXPECT_EQ((*told.outcome)->decision(), nullptr);
  EXPECT_EQ(buckets_.acquires.size(), asked);
}

TEST_F(ReserveAndAcquireTest, WithoutTokensTheSlotIsReleased) {
  for (int i = 0; i < 3; ++i) {
    Start();
    asked_.clear();
  }
  EXPECT_EQ(held(), 0U);
  const BothOutcomeRecorder& told = Start();
  ASSERT_TRUE(told.refused());
  EXPECT_FALSE((*told.outcome)->slot_refusal());
  EXPECT_EQ((*told.outcome)->decision()->retry_after, 20 * kSecond);
  EXPECT_EQ(told.held, 0U) << "before the answer is told";
  EXPECT_EQ(store_.releases.size(), 4U);
}

TEST_F(ReserveAndAcquireTest, TheNamesMayBeGoneWhileTheStoreAnswers) {
  store_.hold = true;
  const BothOutcomeRecorder& told = Start();
  store_.ReleaseHeldResults();  // releases the result for the limit
  store_.ReleaseHeldResults();  // releases the result for the slot
  store_.hold = false;
  ASSERT_TRUE(told.granted());
  ASSERT_EQ(buckets_.acquires.size(), 1U);
  EXPECT_EQ(buckets_.acquires[0].charges[0].target->key.resource, kResource);
}

TEST_F(ReserveAndAcquireTest, WhereTheTokensFailTheSlotIsReleased) {
  buckets_.fail = Error{Code::kUnavailable, "away"};
  const BothOutcomeRecorder& told = Start();
  ASSERT_EQ(told.times, 1);
  EXPECT_EQ(told.outcome->error().code, Code::kUnavailable);
  EXPECT_EQ(held(), 0U);
}

TEST_F(ReserveAndAcquireTest, WhereTheSlotFailsNoTokensAreTaken) {
  store_.fail = Error{Code::kUnavailable, "away"};
  EXPECT_EQ(Start().outcome->error().code, Code::kUnavailable);
  EXPECT_EQ(buckets_.acquires.size(), 0U);
}

TEST_F(ReserveAndAcquireTest, AnExceptionThatUnwindsGivesBothBack) {
  BothOutcomeRecorder& told = Start();
  ASSERT_TRUE(told.granted());
  try {
    const SlotAndRate both = *std::move(*told.outcome);
    throw std::runtime_error("the cluster did not start");
  } catch (const std::runtime_error&) {
    EXPECT_EQ(held(), 0U);
    EXPECT_EQ(starts(), 3);
  }
}

TEST_F(ReserveAndAcquireTest, ThrownAwayTheSlotIsReleasedAndTheTokensCount) {
  Start();
  asked_.clear();
  EXPECT_EQ(held(), 0U);
  EXPECT_EQ(starts(), 2);
}

TEST_F(ReserveAndAcquireTest, TheSlotIsHeldWhileTheTokensAreWaitedFor) {
  for (int i = 0; i < 3; ++i) {
    Start();
    asked_.clear();
  }
  const BothOutcomeRecorder& told = Start(Deadline::Never());
  EXPECT_EQ(told.times, 0);
  EXPECT_EQ(held(), 1U);
  scheduler_.Advance(20 * kSecond);
  EXPECT_TRUE(told.granted());
  EXPECT_EQ(told.at - begin_, 20 * kSecond);
}

// R14. Fails if: a slot that expired during the wait for tokens is granted, or the tokens are lost.
TEST_F(ReserveAndAcquireTest, R14ASlotThatExpiresDuringTheWaitIsNotGranted) {
  Restart({.reservation_ttl = milliseconds(20'000), .seed = 1});
  for (int i = 0; i < 3; ++i) {
    Start();
    asked_.clear();
  }
  const BothOutcomeRecorder& told = Start(Deadline::Never());
  scheduler_.Advance(20 * kSecond);
  ASSERT_EQ(told.times, 1);
  ASSERT_FALSE(*told.outcome);
  EXPECT_EQ(told.outcome->error().code, Code::kAborted);
  EXPECT_NE(told.outcome->error().message.find("expired"), std::string::npos);
  EXPECT_EQ(starts(), 1);
  EXPECT_EQ(store_.releases.size(), 4U);
}

TEST_F(ReserveAndAcquireTest, R14ASlotThatLivesAMillisecondLongerIsGranted) {
  Restart({.reservation_ttl = milliseconds(20'001), .seed = 1});
  for (int i = 0; i < 3; ++i) {
    Start();
    asked_.clear();
  }
  BothOutcomeRecorder& told = Start(Deadline::Never());
  scheduler_.Advance(20 * kSecond);
  ASSERT_TRUE(told.granted());
  EXPECT_FALSE(std::move(**told.outcome).reservation().expired());
}

// R14. Fails if: tokens that were never taken are returned.
TEST_F(ReserveAndAcquireTest, R14WithoutALeaseNothingIsGivenBack) {
  Restart({.reservation_ttl = milliseconds(1), .seed = 1});
  ASSERT_TRUE(
      rates_->Apply({Put(Level::System(), {{"starts", PerMinute(3)}}, OnUnavailable::kAllow)},
                    Deadline::Never()));
  Start();  // caches the policy
  asked_.clear();
  buckets_.fail = Error{Code::kUnavailable, "away"};
  store_.hold = true;
  const BothOutcomeRecorder& told = Start();
  scheduler_.Advance(milliseconds(1));
  store_.ReleaseHeldResults();  // releases the result for the slot
  store_.hold = false;
  ASSERT_EQ(told.times, 1);
  ASSERT_FALSE(*told.outcome);
  EXPECT_EQ(told.outcome->error().code, Code::kAborted);
  buckets_.fail.reset();
  EXPECT_EQ(starts(), 2);
}

TEST_F(ReserveAndAcquireTest, WhereTheRatesStoreIsAwayAndMayBeTheSlotAloneIsHeld) {
  ASSERT_TRUE(
      rates_->Apply({Put(Level::System(), {{"starts", PerMinute(3)}}, OnUnavailable::kAllow)},
                    Deadline::Never()));
  EXPECT_TRUE(Start().granted());
  buckets_.fail = Error{Code::kUnavailable, "away"};
  BothOutcomeRecorder& told = Start();
  ASSERT_TRUE(told.granted());
  EXPECT_FALSE(std::move(**told.outcome).lease().active());
  EXPECT_EQ(held(), 2U);
}

TEST_F(ReserveAndAcquireTest, TheBlockingFormAnswersTheSame) {
  const auto both =
      ReserveAndAcquire({*limiter_, *rates_},
                        {.slot = {.resource = "emr", .account = "acme", .default_limit = 1},
                         .rate = {.entity = "acme", .resource = "emr", .amounts = {{"starts", 1}}}},
                        Deadline::Never());
  ASSERT_TRUE(both);
  EXPECT_TRUE(both->granted());
}

}  // namespace
}  // namespace weir
