// A process whose write is in doubt, or whose read is slow, while other processes write the same
// item: the stored item and the reported results.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "weir/zae_table/testing/bucket_protocol_fixture.h"

namespace weir::dynamo {
namespace {

constexpr Quota kSmaller{60'000, 10'000, 1'000};

class BucketDoubt : public BucketProtocolTest {
 protected:
  static constexpr auto kConform = CallRequest::Kind::kConform;
  static constexpr auto kAdjust = CallRequest::Kind::kAdjust;

  BucketDoubt() { Put("acme", 100); }

  Pending Conform(const Quota& quota) {
    return Start({{"acme", 0}}, {.kind = kConform, .limit = {"rpm", quota}});
  }
  std::int64_t Number(const char* attribute) { return *GetNumber(*Stored("acme"), attribute); }
};

// Another process has stored the limits, so no write is needed, but an earlier write is in doubt.
// Fails if: no write settles it, and requests with other limits wait for ten seconds.
TEST_F(BucketDoubt, AWriteInDoubtThatIsNeedlessNowIsSettledByAProbe) {
  const Pending conform = Conform(kSmaller);
  Read();
  LoseRequest(Next("acme"));
  ReplaceLimit("acme", kSmaller);
  Learn("acme");
  const Pending other =
      Start({{"acme", 1}}, {.limit = {"lane", kRpm.quota}, .source = LimitSource::kOverride});
  for (int i = 0; i < 20; ++i) {
    Wait(milliseconds(10));
    if (Writes("acme") > 0) Apply(Next("acme"));
  }
  EXPECT_EQ(StateOf(conform), "admitted");
  EXPECT_EQ(StateOf(other), "admitted");
  EXPECT_EQ(protocol_->forfeits(), 0);
}

// Fails if: the take that is written again stores its own limits.
TEST_F(BucketDoubt, ATakeInDoubtDoesNotStoreLimitsThatWereReplaced) {
  Learn("acme");
  const Pending first = Start({{"acme", 1}});
  Apply(Next("acme"));  // claims a slot
  const Pending call = Start({{"acme", 1}});
  LoseRequest(Next("acme"));
  Wait(milliseconds(20));
  ReplaceLimit("acme", kSmaller);
  ExpectExact();
  EXPECT_EQ(Number("b_rpm_cp"), kSmaller.capacity);
  EXPECT_EQ(StateOf(call), "outdated");
}

// Like the test above, but for the limits that a refused call stores, if this write is slow.
TEST_F(BucketDoubt, ASlowRepairDoesNotStoreLimitsThatWereReplaced) {
  Put("acme", 5);
  Learn("acme");
  Start({{"acme", 1}});
  Apply(Next("acme"));
  constexpr Quota kOther{90'000, 10'000, 1'000};
  const Pending call = Start({{"acme", 50}}, {.limit = {"rpm", kOther}});
  Next("acme");  // gets no response
  EXPECT_EQ(StateOf(call), "waits") << "the limits are stored before the refusal";
  Wait(milliseconds(20));
  ReplaceLimit("acme", kSmaller);
  Learn("acme");
  Wait(milliseconds(80));
  ExpectExact();
  EXPECT_EQ(Number("b_rpm_cp"), kSmaller.capacity);
  EXPECT_EQ(StateOf(call), "outdated");
}

// Fails if: limits that another process replaced between the read and the call stay replaced.
TEST_F(BucketDoubt, AReadThatBeganBeforeAConformDoesNotServeIt) {
  Start({{"acme", 1}});
  std::vector<HeldRead> before = ReadNow();
  ReplaceLimit("acme", kSmaller);
  const Pending conform = Conform(kRpm.quota);
  Deliver(std::move(before));
  EXPECT_EQ(StateOf(conform), "waits");
  ExpectExact();
  EXPECT_EQ(StateOf(conform), "admitted");
  EXPECT_EQ(Number("b_rpm_cp"), kRpm.quota.capacity);
}

// A read that finds no item may be older than the write that created it.
TEST_F(BucketDoubt, AReadThatBeganBeforeAWriteDoesNotHideItsItem) {
  Delete("acme", 0);
  Start({{"acme", 1}});
  Read();
  const Request creation = Next("acme");
  Wait(milliseconds(99));
  protocol_->Forget({"acme", "llm", 0});
  const Pending look = Start({{"acme", 1}});
  Wait(milliseconds(1));
  std::vector<HeldRead> before = ReadNow();
  ASSERT_EQ(before.size(), 1U);
  Apply(creation);
  Apply(Next("acme"));
  EXPECT_EQ(StateOf(look), "admitted");
  Deliver(std::move(before));
  Start({{"acme", 1}});
  const Request next = Next("acme");
  EXPECT_EQ(next.write.writes.front().kind, Write::Kind::kUpdate);
  Apply(next);
  ExpectExact();
}

// Fails if: the sum of the returns of one write overflows 64 bits and becomes a debit.
TEST_F(BucketDoubt, TheReturnsOfOneWriteAreBounded) {
  constexpr std::int64_t kHuge = kMaxMillitokens / kMillitokens;
  const Terms terms{.kind = kAdjust, .limit = {"rpm", {kMaxMillitokens, kMaxMillitokens, 1'000}}};
  for (int i = 0; i < 1'000; ++i) Start({{"acme", -kHuge}}, terms);
  Read();
  ASSERT_EQ(Writes("acme"), 1U);
  Apply(Next("acme"));
  EXPECT_GE(Number("b_rpm_tk"), 0);
  EXPECT_LE(Number("b_rpm_tc"), 0) << "what was taken, less what was returned";
}

// Fails if: a call reports that limits are stored although they are not.
TEST_F(BucketDoubt, AConformThatLosesToOthersEachTimeFails) {
  const Pending conform = Conform(kSmaller);
  Read();
  for (int i = 0; i < 5'000 && StateOf(conform) == "waits"; ++i) {
    if (Writes("acme") > 0) {
      Leave("acme", 50);
      Apply(Next("acme"));
    }
    Wait(milliseconds(10));
  }
  EXPECT_EQ(StateOf(conform), "UNAVAILABLE");
  EXPECT_EQ(Number("b_rpm_cp"), kRpm.quota.capacity);
}

// Fails if: an adjust whose write has no slot is written again, and its caller learns nothing of
// it.
TEST_F(BucketDoubt, AnAdjustThatMayHaveBeenAppliedIsNotRepeated) {
  Put("acme", 100);
  ClaimSlots("acme");
  Learn("acme");
  const Pending adjust = Start({{"acme", 5}}, {.kind = kAdjust});
  LoseResponse(Next("acme"));
  for (int i = 0; i < 40 && StateOf(adjust) == "waits"; ++i) {
    Wait(milliseconds(10));
    while (Writes("acme") > 0) Apply(Next("acme"));
  }
  EXPECT_EQ(StateOf(adjust), "UNAVAILABLE");
  EXPECT_EQ(Taken("acme"), 5);
  EXPECT_EQ(protocol_->forfeits(), 1);
}

// The transaction of the adjust conflicts with those of other processes. Fails if: no take is
// written before the transaction succeeds.
TEST_F(BucketDoubt, TakesGoBetweenTheTriesOfARecordedAdjust) {
  Learn("acme");
  const Pending adjust = Start({{"acme", 5}}, {.kind = kAdjust, .is_recorded = true});
  const Pending take = Start({{"acme", 1}});
  const Request first = Next("acme");
  ASSERT_EQ(first.write.writes.size(), 2U);
  Fail(first, {.kind = FailureClass::kConditional,
               .error = {Code::kUnavailable, "conflict"},
               .reasons = {{.code = "TransactionConflict"}, {.code = "None"}}});
  Wait(milliseconds(50));
  const Request second = Next("acme");
  EXPECT_EQ(second.write.writes.size(), 1U);
  Apply(second);
  EXPECT_EQ(StateOf(take), "admitted");
  EXPECT_EQ(StateOf(adjust), "waits");
  ExpectExact();
  EXPECT_EQ(StateOf(adjust), "admitted");
}

}  // namespace
}  // namespace weir::dynamo
