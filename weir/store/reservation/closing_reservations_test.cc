#include "weir/store/reservation/closing_reservations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weir/runtime/await.h"
#include "weir/store/memory/memory_backend.h"
#include "weir/store/memory/memory_reservations.h"

namespace weir {
namespace {

using testing::Each;
using testing::HasSubstr;
using FoundLimit = std::optional<AccountLimitRow>;

const AccountKey kKey{"emr", "acme"};
constexpr UnixMillis kClosingNow{1'000'000};

// A backend that holds the callbacks of Get for the test.
class SilentLimits final : public ReservationBackend, private AccountLimitStore {
 public:
  /// `after_change` runs within Change, after its callback.
  SilentLimits(std::vector<Done<FoundLimit>>& held, std::function<void()>& after_change)
      : held_(held), after_change_(after_change) {}

  ReservationStore& slots() override { return memory_->slots(); }
  AccountLimitStore& limits() override { return *this; }
  TokenStore& tokens() override { return memory_->tokens(); }
  std::optional<UnixMillis> OwnTime() const override { return UnixMillis{7}; }
  std::string Describe() const override { return "silent"; }

 private:
  void Get(const AccountKey&, Deadline, Done<FoundLimit> done) override {
    held_.push_back(std::move(done));
  }
  void KeysOfService(const std::string&, Deadline, Done<std::vector<AccountKey>> done) override {
    done(std::vector<AccountKey>());
  }
  void Change(const AccountLimitChange&, Deadline, Done<void> done) override {
    done({});
    after_change_();
  }

  std::vector<Done<FoundLimit>>& held_;
  std::function<void()>& after_change_;
  const std::unique_ptr<ReservationBackend> memory_ = MakeMemoryReservations();
};

Result<FoundLimit> GetLimit(ReservationBackend& backend) {
  return Await<FoundLimit>(
      [&](auto done) { backend.limits().Get(kKey, Deadline::Never(), std::move(done)); });
}

class ClosingReservationsTest : public testing::Test {
 protected:
  // Calls Close on another thread, and waits until further calls are refused.
  std::future<void> CloseElsewhere() {
    auto closed = std::async(std::launch::async, [this] { backend_->Close(); });
    while (IsOpen()) std::this_thread::yield();
    return closed;
  }
  bool IsOpen() {
    return Await<std::vector<AccountKey>>([&](auto done) {
             backend_->limits().KeysOfService("s", Deadline::Never(), std::move(done));
           })
        .has_value();
  }
  bool Claim(const std::string& id) {
    const SlotClaim claim{.slot = {kKey, id}, .limit = 2, .ttl = std::chrono::minutes(5)};
    const auto result = Await<ClaimResult>([&](auto done) {
      backend_->slots().Claim(claim, kClosingNow, Deadline::Never(), std::move(done));
    });
    return result && result->slot;
  }
  static bool IsReady(const std::future<void>& closed) {
    return closed.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  std::vector<Done<FoundLimit>> held_;
  std::function<void()> after_change_ = [] {};
  std::unique_ptr<ReservationBackend> backend_ =
      MakeClosing(std::make_unique<SilentLimits>(held_, after_change_));
};

// R1. Fails if: a call outlives its backend.
TEST_F(ClosingReservationsTest, R1CloseReturnsWhenEveryCallHasItsAnswer) {
  int results = 0;
  for (int i = 0; i < 2; ++i) {
    backend_->limits().Get(kKey, Deadline::Never(), [&](const auto&) { ++results; });
  }
  std::future<void> closed = CloseElsewhere();
  EXPECT_FALSE(IsReady(closed));
  held_[0](FoundLimit());
  EXPECT_FALSE(IsReady(closed)) << "one is in flight";
  held_[1](FoundLimit());
  closed.get();
  EXPECT_EQ(results, 2);
  backend_.reset();
}

// Fails if: the owner may destroy the backend while a call is still running in it, because its
// callback has already run.
TEST_F(ClosingReservationsTest, R1CloseReturnsWhenNoCallRunsInThePlace) {
  std::future<void> closed;
  after_change_ = [&] {
    closed = CloseElsewhere();
    for (int i = 0; i < 1000 && !IsReady(closed); ++i) std::this_thread::yield();
    EXPECT_FALSE(IsReady(closed));
  };
  bool is_completed = false;
  backend_->limits().Change(DeleteAccountLimit{}, Deadline::Never(),
                            [&](const auto&) { is_completed = true; });
  closed.get();
  EXPECT_TRUE(is_completed);
}

// R1. Fails if: an unneeded slot is held until it expires, because it is released while the backend
// closes.
TEST_F(ClosingReservationsTest, R1ReleasesAreMadeWhileACallIsInFlight) {
  ASSERT_TRUE(Claim("w-1"));
  ASSERT_TRUE(Claim("w-2"));
  std::vector<Result<bool>> released;
  const auto note = [&](Result<bool> result) { released.push_back(std::move(result)); };
  backend_->limits().Get(kKey, Deadline::Never(), [&](const auto&) {
    backend_->slots().Release({kKey, "w-1"}, kClosingNow, Deadline::Never(), note);
    backend_->slots().ReleaseUnbound({kKey, "w-2"}, kClosingNow, Deadline::Never(), note);
  });
  std::future<void> closed = CloseElsewhere();
  held_[0](FoundLimit());
  closed.get();
  EXPECT_THAT(released, Each(Result<bool>(true)));
  EXPECT_FALSE(Claim("w-3")) << "only releases are";
  backend_->slots().Release({kKey, "w-1"}, kClosingNow, Deadline::Never(), note);
  ASSERT_EQ(released.size(), 3U);
  EXPECT_FALSE(released.back()) << "no call is in flight";
}

// Fails if: Close waits forever for a call whose callback was dropped.
TEST_F(ClosingReservationsTest, ACallThatIsDroppedIsNotWaitedFor) {
  backend_->limits().Get(kKey, Deadline::Never(), [](const auto&) {});
  std::future<void> closed = CloseElsewhere();
  held_.clear();
  closed.get();
}

TEST_F(ClosingReservationsTest, LaterCallsAreRefusedByName) {
  backend_->Close();
  const auto found = GetLimit(*backend_);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kUnavailable);
  EXPECT_THAT(found.error().message, HasSubstr("silent: the backend is closed"));
  EXPECT_TRUE(held_.empty());
  EXPECT_EQ(backend_->OwnTime(), UnixMillis{7});
  backend_->Close();
}

class LazyReservationsTest : public testing::Test {
 protected:
  LazyReservations lazy_{[this]() -> Result<std::unique_ptr<ReservationBackend>> {
    ++opened_;
    if (opened_ == 1) return Fail(Code::kUnavailable, "away");
    return MakeClosing(MakeMemoryReservations());
  }};
  int opened_ = 0;
};

TEST_F(LazyReservationsTest, IsOpenedAtTheFirstCallThatSucceeds) {
  EXPECT_EQ(opened_, 0);
  EXPECT_EQ(lazy_.Get().error().message, "away");
  const auto first = lazy_.Get();
  ASSERT_TRUE(first);
  EXPECT_EQ(lazy_.Get(), first);
  EXPECT_EQ(opened_, 2);
}

TEST_F(LazyReservationsTest, CloseClosesWhatIsOpenAndOpensNothing) {
  (void)lazy_.Get();
  const auto opened = lazy_.Get();
  ASSERT_TRUE(opened);
  EXPECT_TRUE(GetLimit(**opened));
  lazy_.Close();
  EXPECT_EQ(GetLimit(**opened).error().code, Code::kUnavailable);
  EXPECT_EQ(lazy_.Get().error().code, Code::kUnavailable);
  EXPECT_EQ(opened_, 2);
}

// One backend: its slots are closed with it.
TEST(MemoryBackend, I14HasSlotsThatCloseWithIt) {
  const auto backend = MakeMemoryBackend();
  const auto slots = backend->reservations();
  ASSERT_TRUE(slots) << slots.error().message;
  EXPECT_TRUE(GetLimit(**slots));
  EXPECT_EQ(backend->reservations(), slots);
  ASSERT_TRUE(backend->Close());
  EXPECT_EQ(GetLimit(**slots).error().code, Code::kUnavailable);
  EXPECT_EQ(backend->reservations().error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace weir
