// AcquireAndKeep on two buckets, at its deadline. A caller that gets that error admits its request,
// and all of its tokens stay taken, exactly once. Any other result leaves no tokens taken.
#include <gtest/gtest.h>

#include "weir/zae_table/testing/bucket_protocol_fixture.h"

namespace weir::dynamo {
namespace {

constexpr char kTooLate[] = "DEADLINE_EXCEEDED";

/// A child and its parent with 100 tokens each, and a call that takes 10 of both until its
/// deadline.
class KeptTake : public BucketProtocolTest {
 protected:
  static constexpr milliseconds kPatience{50};

  KeptTake() {
    for (const char* entity : {"child", "parent"}) {
      Put(entity, 100);
      Learn(entity);
    }
  }
  Pending Begin() { return Keep({{"child", 10}, {"parent", 10}}, kPatience); }

  /// The child refuses the call. Returns the write on the parent, which has no response at the
  /// deadline.
  Request BeginAndBeRefused() {
    const Pending call = Begin();
    Request parent = Next("parent");
    Leave("child", 1);
    Apply(Next("child"));
    Wait(kPatience);
    EXPECT_EQ(StateOf(call), "refused");
    return parent;
  }
  /// Other processes write to the bucket before each write of the call, until the call pauses.
  void LoseToOthers(const std::string& entity) {
    drawn_ = 9'000'000;  // pauses of about 9 ms
    for (int i = 0; i < 10 && Writes(entity) > 0; ++i) {
      Leave(entity, 100);
      Apply(Next(entity));
    }
    ASSERT_EQ(Writes(entity), 0U);
  }
  /// The parent refuses, the child's tokens are given back, and the second try takes the child
  /// first.
  Pending BeginAgainInOrder() {
    const Pending call = Begin();
    Apply(Next("child"));
    Leave("parent", 1);
    Apply(Next("parent"));
    Leave("parent", 100);
    Learn("parent");
    Apply(Next("child"));
    EXPECT_EQ(Writes("child"), 1U);
    EXPECT_EQ(Writes("parent"), 0U);
    return call;
  }
};

// Fails if: the debits of requests that a silent table did not result fill the queue: later
// requests are then refused as contended, although the policy would admit them.
TEST_F(KeptTake, RequestsToASilentTableDoNotFillTheQueue) {
  int contended = 0;
  for (int i = 0; i < 6'000; ++i) {
    const Pending call = Keep({{"child", 1}}, kPatience);
    Wait(milliseconds(1));
    contended += StateOf(call) == "contended" ? 1 : 0;
  }
  EXPECT_EQ(contended, 0);
}

// Fails if: the sum of debits that share a part is not that of the requests.
TEST_F(KeptTake, AllRequestsThatASilentTableDidNotAnswerAreCharged) {
  const std::int64_t before = Taken("child");
  for (int i = 0; i < 7; ++i) (void)Keep({{"child", 1}}, kPatience);
  Wait(kPatience);
  for (int i = 0; i < 1'000; ++i) {
    while (Writes("child") > 0) Apply(Next("child"));
    Wait(milliseconds(1));
  }
  EXPECT_EQ(Taken("child") - before, 7);
}

// Fails if: the part that a write still carried stays taken although its request was refused.
TEST_F(KeptTake, IfItIsRefusedThePartThatIsAppliedLaterIsGivenBack) {
  const Request parent = BeginAndBeRefused();
  Apply(parent);
  EXPECT_EQ(Taken("parent"), 10);
  ExpectExact();
}

// Fails if: the part is debited although its request was refused.
TEST_F(KeptTake, IfItIsRefusedThePartThatIsNotAppliedLaterIsDropped) {
  const Request parent = BeginAndBeRefused();
  Leave("parent", 50);
  Apply(parent);
  ExpectExact();
  EXPECT_EQ(Taken("parent"), 0);
}

// Fails if: the tokens are taken once more instead of returned.
TEST_F(KeptTake, IfItIsContendedThePartThatIsAppliedIsGivenBack) {
  const Pending call = Begin();
  Apply(Next("child"));
  Wait(kPatience - milliseconds(2));
  LoseToOthers("parent");
  Wait(milliseconds(2));
  EXPECT_EQ(StateOf(call), "contended");
  ExpectExact();
  EXPECT_EQ(Taken("child"), 0);
}

TEST_F(KeptTake, AtItsDeadlineThePartThatIsAppliedLaterCountsOnce) {
  const Pending call = Begin();
  Apply(Next("child"));
  const Request parent = Next("parent");
  Wait(kPatience);
  EXPECT_EQ(StateOf(call), kTooLate);
  Apply(parent);
  ExpectExact();
}

TEST_F(KeptTake, AtItsDeadlineThePartThatIsNotAppliedLaterIsDebited) {
  const Pending call = Begin();
  Apply(Next("child"));
  const Request parent = Next("parent");
  Wait(kPatience);
  EXPECT_EQ(StateOf(call), kTooLate);
  Leave("parent", 1);
  Apply(parent);
  ExpectExact();
}

// Fails if: only parts that an actor had accepted are debited.
TEST_F(KeptTake, AtItsDeadlineInTheSecondTryThePartsOfLaterKeysAreDebited) {
  const Pending call = BeginAgainInOrder();
  Wait(kPatience);
  EXPECT_EQ(StateOf(call), kTooLate);
  ExpectExact();
}

// Fails if: a part that is already taken is debited, too.
TEST_F(KeptTake, AtItsDeadlineInTheSecondTryWhatIsTakenIsNotDebited) {
  const Pending call = BeginAgainInOrder();
  protocol_->Forget({"parent", "llm", 0});
  Apply(Next("child"));
  EXPECT_FALSE(ReadNow().empty()) << "the parent is read again, without an answer";
  Wait(kPatience);
  EXPECT_EQ(StateOf(call), kTooLate);
  EXPECT_EQ(Taken("child"), 10);
  Deliver({{{"parent", "llm", 0}, {Stored("parent"), {}, false}}});
  ExpectExact();
}

// The part's outcome will never be known, so it counts as not taken and is debited, and counts as a
// forfeit.
TEST_F(KeptTake, AtItsDeadlineThePartWhoseSlotIsLostInDoubtIsDebited) {
  const Pending call = Begin();
  Apply(Next("child"));
  LoseRequest(Next("parent"));
  Wait(kPatience);
  EXPECT_EQ(StateOf(call), kTooLate);
  ClaimSlots("parent");
  ExpectExact();
  EXPECT_EQ(protocol_->forfeits(), 1);
}

// Fails if: the part whose write had no time left is not debited.
TEST_F(KeptTake, IfAWriteFailsByItsOwnTimeItsPartIsDebited) {
  const Pending call = Begin();
  Apply(Next("child"));
  Fail(Next("parent"), {.kind = FailureClass::kDeadline,
                        .error = {Code::kDeadlineExceeded, "the deadline has passed"}});
  EXPECT_EQ(StateOf(call), kTooLate);
  ExpectExact();
}

struct Expiry {
  std::string loser, other;
  bool is_parent_first = false;  // in the order of timers
};

class KeptTakeExpires : public KeptTake, public testing::WithParamInterface<Expiry> {};

// No write carries the loser's part, a write carries the other one's, and both end at the deadline.
TEST_P(KeptTakeExpires, InEitherOrder) {
  const auto& [loser, other, is_parent_first] = GetParam();
  if (is_parent_first) {
    protocol_ = MakeProtocol(1000);
    Learn("parent");
    Learn("child");
  }
  const Pending call = Begin();
  const Request carried = Next(other);
  Wait(kPatience - milliseconds(2));
  LoseToOthers(loser);
  Wait(milliseconds(2));
  EXPECT_NE(StateOf(call), "waits");
  Apply(carried);
  ExpectExact();
}

INSTANTIATE_TEST_SUITE_P(Orders, KeptTakeExpires,
                         testing::Values(Expiry{"child", "parent", false},
                                         Expiry{"parent", "child", false},
                                         Expiry{"child", "parent", true},
                                         Expiry{"parent", "child", true}));

}  // namespace
}  // namespace weir::dynamo
