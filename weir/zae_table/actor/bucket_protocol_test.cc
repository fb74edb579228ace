// Calls and bucket actors of one process: outcomes, returns, bounds of queues, eviction.
#include "weir/zae_table/actor/bucket_protocol.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "weir/zae_table/testing/bucket_protocol_fixture.h"

namespace weir::dynamo {
namespace {

/// Calls several of whose parts end in one event. BeginSlowWrites leaves a write in flight on each
/// of the two shards of "parent".
class StaleOutcome : public BucketProtocolTest {
 protected:
  void Divide(std::uint32_t shards, std::int64_t tokens) {
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      Put("parent", tokens, shard, shards);
      Learn("parent", shard);
    }
  }
  void BeginSlowWrites() {
    Divide(2, 50);
    for (int i = 0; i < 20 && Writes("parent") < 2; ++i) Start({{"parent", 1}});
    ASSERT_EQ(Writes("parent"), 2U);
  }
};

// Both parts end in one event, because the bucket has other shards now. Fails if: the outcome of
// the second part is assumed to be that of a part of the next route, so that the call does not wait
// for this part.
TEST_F(StaleOutcome, OfADivisionDoesNotReachTheNextRound) {
  BeginSlowWrites();
  const Pending call = Start({{"parent", 60}});
  ASSERT_EQ(Writes("parent"), 2U);
  Wait(milliseconds(20));
  Divide(4, 24);
  Wait(milliseconds(100));
  ExpectExact();
  EXPECT_NE(StateOf(call), "waits");
}

// Two buckets refuse in one event, after a take of the first one was applied. Fails if: the second
// refusal is assumed to be the outcome of the return.
TEST_F(StaleOutcome, OfARefusalDoesNotEndTheReturn) {
  for (const char* entity : {"first", "second", "third"}) {
    Put(entity, 100);
    Learn(entity);
  }
  Start({{"second", 1}});
  Start({{"third", 1}});
  const Pending call = Start({{"first", 10}, {"second", 10}, {"third", 10}});
  Apply(Next("first"));
  Wait(milliseconds(20));
  for (const char* entity : {"second", "third"}) {
    Leave(entity, 5);
    Learn(entity);
  }
  Wait(milliseconds(100));
  ExpectExact();
  ASSERT_EQ(StateOf(call), "refused");
  EXPECT_FALSE((*call)->value().maybe_charged_twice);
}

class FullQueue : public BucketProtocolTest {
 protected:
  static constexpr std::size_t kMaxParts = 4096;  // in the queue of one bucket
};

TEST_F(FullQueue, AReturnIsAccepted) {
  for (const char* entity : {"child", "parent"}) {
    Put(entity, 100);
    Learn(entity);
  }
  const Pending call = Start({{"child", 10}, {"parent", 10}});
  Apply(Next("parent"));
  // Adjusts fill the queue, because no balance refuses them.
  Pending last;
  for (std::size_t i = 0; i <= kMaxParts; ++i) {
    last = Start({{"parent", 1}}, {.kind = CallRequest::Kind::kAdjust});
  }
  EXPECT_EQ(StateOf(last), "UNAVAILABLE") << "the queue is full";
  Leave("child", 1);
  Apply(Next("child"));
  ExpectExact();
  EXPECT_EQ(StateOf(call), "refused");
  EXPECT_EQ(protocol_->forfeits(), 0);
}

// Fails if: the call reports that the table does not respond.
TEST_F(FullQueue, ALookIsContended) {
  Put("parent", 100);
  Learn("parent");
  for (std::size_t i = 0; i < kMaxParts; ++i) {
    Start({{"parent", 1}}, {.kind = CallRequest::Kind::kAdjust});
  }
  protocol_->Forget({"parent", "llm", 0});
  const Pending call = Start({{"parent", 50}});
  EXPECT_EQ(StateOf(call), "contended");
}

// Fails if: each write that fails because of another process halves the takes of the next one, even
// if the balance suffices for all of them.
TEST_F(BucketProtocolTest, AWriteThatOthersRefilledBeforeCarriesAllItsTakesAgain) {
  Put("acme", 100);
  std::vector<Pending> calls;
  for (int i = 0; i < 8; ++i) calls.push_back(Start({{"acme", 11}}));
  Read();
  const Request all = Next("acme");
  Leave("acme", 100);
  Apply(all);
  EXPECT_EQ(StateOf(calls.front()), "waits");
  Apply(Next("acme"));
  for (const Pending& call : calls) EXPECT_EQ(StateOf(call), "admitted");
}

// Fails if: eviction looks for idle actors only among the oldest ones, which may all be busy.
TEST_F(BucketProtocolTest, BusyActorsDoNotKeepIdleOnes) {
  constexpr int kBusy = 100;
  constexpr int kOthers = 5000;
  protocol_ = MakeProtocol(1000);
  Put("first", 100);
  const Item item = *Stored("first");
  for (int i = 0; i < kBusy; ++i) {
    Put(fmt::format("busy{}", i), 100);
    Learn(fmt::format("busy{}", i));
    Start({{fmt::format("busy{}", i), 1}});
  }
  BucketImage image = *ReadImage(item);
  const ProtocolTime now{.at = table_.scheduler.clock().Now(), .bucket_time = image.bucket.time};
  int known = 0;
  for (int i = 0; i < kOthers; ++i) {
    image.key.entity = fmt::format("idle{}", i);
    protocol_->Learn(image, now);
  }
  for (int i = 0; i < kOthers; ++i) {
    known += protocol_->Find({fmt::format("idle{}", i), "llm", 0}) != nullptr;
  }
  EXPECT_EQ(known, 1000 - kBusy);
}

// Fails if: a late response is assumed to be that of the new actor's write, which is not applied.
TEST_F(BucketProtocolTest, AResponseForAnActorThatWasEvictedTellsNothingOfAnotherOnesWrite) {
  protocol_ = MakeProtocol(1);
  Put("acme", 50);
  Put("other", 50);
  const Pending first = Start({{"acme", 30}});
  Read();
  const auto result = ApplyHoldingResponse(Next("acme"));
  Wait(milliseconds(150));
  // The second write supersedes the first one, fails, and shows that the first one was applied.
  Apply(Next("acme"));
  ASSERT_EQ(StateOf(first), "admitted");
  Start({{"other", 1}});
  Read();
  Apply(Next("other"));
  const Pending second = Start({{"acme", 15}});
  Read();
  const Request write = Next("acme");
  result();
  EXPECT_EQ(StateOf(second), "waits");
  Leave("acme", 0);
  Apply(write);
  ExpectExact();
  EXPECT_EQ(StateOf(second), "refused");
}

// Fails if: the return creates an item of shard 1 that has the capacity of the whole bucket.
TEST_F(BucketProtocolTest, AReturnToADeletedShardIsForfeited) {
  Put("parent", 50, 0, 2);
  Put("parent", 50, 1, 2);
  for (const std::uint32_t shard : {0U, 1U}) Learn("parent", shard);
  Pending call;
  Request write;
  while (write.key.shard != 1) {
    call = Start({{"parent", 5}}, {.patience = milliseconds(50)});
    write = Next("parent");
    if (write.key.shard != 1) Apply(write);
  }
  Wait(milliseconds(50));
  EXPECT_EQ(StateOf(call), "DEADLINE_EXCEEDED");
  Apply(write);
  Delete("parent", 1);
  Apply(Next("parent"));
  Read();
  for (int i = 0; i < 100; ++i) {
    Wait(milliseconds(20));
    EXPECT_EQ(Writes("parent"), 0U);
  }
  EXPECT_FALSE(Stored("parent", 1));
  EXPECT_EQ(protocol_->forfeits(), 1);
  EXPECT_TRUE(protocol_->is_idle());
}

/// As many writes are in flight as the window has room for. Each is on a bucket of its own.
class FullWindow : public BucketProtocolTest {
 protected:
  void SetUp() override {
    for (; filled_ < WriteWindow::kMost; ++filled_) Ask(Filler(filled_), 1);
  }

  static std::string Filler(std::size_t i) { return fmt::format("filler-{}", i); }
  /// Starts calls for one token each, of a bucket that is full.
  std::vector<Pending> Ask(const std::string& entity, int calls, const Terms& terms) {
    Put(entity, 90);
    Learn(entity);
    std::vector<Pending> started;
    for (int i = 0; i < calls; ++i) started.push_back(Start({{entity, 1}}, terms));
    return started;
  }
  std::vector<Pending> Ask(const std::string& entity, int calls) {
    return Ask(entity, calls, Terms{});
  }
  /// One of the fillers has a response.
  void MakeRoom() { Apply(Next(Filler(responses_++))); }

 private:
  std::size_t filled_ = 0;
  std::size_t responses_ = 0;
};

TEST_F(FullWindow, ACorrectionIsWrittenBeforeLargerBucketsThatHaveWaitedLonger) {
  for (int i = 0; i < 10; ++i) Ask(fmt::format("large-{}", i), 5);
  Put("corrected", 50);
  Learn("corrected");
  Start({{"corrected", 1}}, {.kind = CallRequest::Kind::kAdjust});
  EXPECT_EQ(Writes("corrected"), 0U);
  MakeRoom();
  MakeRoom();
  EXPECT_EQ(Writes("corrected"), 1U);
  ExpectExact();
}

// Other limits are to be stored before the refusal. Only the first call waits for that.
TEST_F(FullWindow, LimitsAreStoredBeforeARefusal) {
  for (int i = 0; i < 10; ++i) Ask(fmt::format("large-{}", i), 5);
  Put("empty", 0);
  Learn("empty");
  const Terms terms{.limit = {"rpm", PerMinute(50)}};
  const Pending first = Start({{"empty", 1}}, terms);
  EXPECT_EQ(StateOf(first), "waits");
  EXPECT_EQ(StateOf(Start({{"empty", 1}}, terms)), "refused");
  MakeRoom();
  MakeRoom();
  ASSERT_EQ(Writes("empty"), 1U);
  Apply(Next("empty"));
  EXPECT_EQ(StateOf(first), "refused");
  EXPECT_EQ(GetNumber(*Stored("empty"), "b_rpm_ra"), 50 * kMillitokens);
}

// The callers of a late write have left, and a later write carries none of its takes.
TEST_F(FullWindow, CallersThatHaveLeftDoNotCount) {
  MakeRoom();
  Ask("left", 1, {.patience = milliseconds(90)});
  MakeRoom();
  const std::vector<Pending> left = Ask("left", 30, {.patience = milliseconds(90)});
  Apply(Next("left"));
  ASSERT_EQ(Writes("left"), 1U);
  Ask("filler", 1);
  Ask("oldest", 1);
  Wait(milliseconds(95));
  EXPECT_EQ(StateOf(left.back()), "DEADLINE_EXCEEDED");
  Ask("waits", 3);
  Wait(milliseconds(10));  // the late writes may be superseded now
  Apply(Next(Filler(10)));
  EXPECT_EQ(Writes("oldest"), 1U);
  Apply(Next(Filler(11)));
  EXPECT_EQ(Writes("waits"), 1U);
}

// With room for few actors, the actor is destroyed as soon as it is idle.
TEST_F(FullWindow, ABucketWhoseCallersHaveLeftIsNotAdmitted) {
  for (int i = 0; i < 1'000; ++i) {
    const std::string entity = fmt::format("left-{}", i);
    Put(entity, 10);
    Learn(entity);
    Start({{entity, 1}}, {.patience = milliseconds(50)});
  }
  Wait(milliseconds(60));
  Ask("last", 1);
  MakeRoom();
  EXPECT_EQ(Writes("last"), 1U);
  ExpectExact();
}

// One response makes room in the window, and shows that the callers who wait have too little time.
TEST_F(BucketProtocolTest, OneResponseEndsABoundedNumberOfHopelessCalls) {
  constexpr std::size_t kBuckets = 400;
  constexpr std::size_t kInFlight = WriteWindow::kMost - 1;
  const auto name = [](std::size_t i) { return fmt::format("tenant-{}", i); };
  std::vector<Pending> calls;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    Put(name(i), 10);
    Learn(name(i));
    calls.push_back(Start({{name(i), 1}}, {.patience = std::chrono::seconds(1)}));
  }
  const auto count_pending = [&] {
    return std::ranges::count_if(calls,
                                 [](const Pending& call) { return StateOf(call) == "waits"; });
  };
  round_trip_ = std::chrono::seconds(2);
  Apply(Next(name(0)));
  EXPECT_EQ(count_pending(), kBuckets - 1 - 256);
  Wait(milliseconds(1));
  EXPECT_EQ(count_pending(), kInFlight) << "only writes in flight; the others are due at once";
}

}  // namespace
}  // namespace weir::dynamo
