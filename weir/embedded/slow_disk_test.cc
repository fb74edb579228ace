// C5, C24: a disk that hangs. The file has a thread. The test holds a sync, and simulated time
// passes meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <semaphore>
#include <thread>

#include "weir/embedded/testing/embedded_fixture.h"
#include "weir/embedded/testing/faulty_vfs.h"
#include "weir/runtime/loop.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

// The result of a call, which another thread may set.
template <class T>
class CallResult {
 public:
  Done<T> done() {
    return [state = state_](Result<T> result) {
      EXPECT_FALSE(state->result) << "answered twice";
      state->result.emplace(std::move(result));
      state->completed.release();
    };
  }
  // Blocks until there is a result.
  Result<T>& Get() {
    if (!taken_) state_->completed.acquire();
    taken_ = true;
    return *state_->result;
  }
  // Returns whether there is a result. Only for results that are set on the thread of the test.
  bool is_there() const { return state_->result.has_value(); }

 private:
  struct State {
    std::optional<Result<T>> result;
    std::binary_semaphore completed{0};
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
  bool taken_ = false;
};

class SlowDiskTest : public testing::Test {
 protected:
  void SetUp() override { Open({.durability = Durability::kStrict}); }
  void TearDown() override {
    disk_.ReleaseSyncs();
    backend_.reset();
  }

  void Open(EmbeddedOptions options) {
    options.vfs = disk_.name();
    options.timers = &timers_;
    auto opened = OpenEmbedded(path_, file_io_, options);
    ASSERT_TRUE(opened) << opened.error().message;
    backend_ = *std::move(opened);
  }
  Deadline In(milliseconds wait) const { return Deadline::After(timers_.clock(), wait); }
  UnixMillis now() const { return timers_.clock().WallNow(); }
  CallResult<Decision> Acquire(std::int64_t tokens, Deadline deadline, bool keep = false) {
    CallResult<Decision> result;
    const std::vector<Charge> charges = {Take(acme_, tokens)};
    if (keep) {
      backend_->buckets().AcquireAndKeep(charges, now(), deadline, result.done());
    } else {
      backend_->buckets().Acquire(charges, now(), deadline, result.done());
    }
    return result;
  }
  CallResult<void> Create(const std::string& entity, Deadline deadline) {
    CallResult<void> result;
    backend_->config().Apply({CreateEntity{{.entity = {.id = entity}}}}, deadline, result.done());
    return result;
  }
  bool Exists(const std::string& entity) {
    std::optional<bool> exists;
    backend_->config().GetEntities(std::vector{entity}, Deadline::Never(),
                                   [&](auto found) { exists = found->front().has_value(); });
    return exists.value();
  }
  // Returns the whole tokens of the bucket.
  std::int64_t Balance() {
    std::int64_t balance = 10;
    backend_->buckets().Read(std::vector{acme_->key}, Deadline::Never(), [&](auto records) {
      if (records->front()) balance = records->front()->bucket.meters[0].tokens / kMillitokens;
    });
    return balance;
  }
  // Begins a strict call, which hangs in its sync.
  CallResult<Decision> Hang() {
    disk_.HoldSyncs();
    CallResult<Decision> hangs = Acquire(1, Deadline::Never());
    disk_.AwaitHeldSync();
    return hangs;
  }
  bool IsClosed() {
    bool closed = false;
    backend_->config().GetEntities({}, Deadline::Never(),
                                   [&](const auto& found) { closed = !found; });
    return closed;
  }
  // Returns when all earlier calls have completed.
  void Flush() { EXPECT_TRUE(Acquire(1, Deadline::Never()).Get()->admitted); }

  TempFolder folder_;
  std::string path_ = folder_ / "weir.db";
  FaultyVfs disk_{"slow disk"};
  sim::SimScheduler timers_;
  SystemClock clock_;
  Loop file_io_{clock_};
  std::unique_ptr<EmbeddedBackend> backend_;
  const TargetPtr acme_ = StillTarget("acme", 10);
};

TEST_F(SlowDiskTest, C5AStrictAcquireIsAnsweredAtItsDeadlineAndTheTokensReturnAfterTheCommit) {
  disk_.HoldSyncs();
  CallResult<Decision> late = Acquire(3, In(milliseconds(100)));
  disk_.AwaitHeldSync();
  timers_.Advance(milliseconds(99));
  EXPECT_FALSE(late.is_there());
  timers_.Advance(milliseconds(1));
  ASSERT_TRUE(late.is_there());
  ASSERT_FALSE(late.Get());
  EXPECT_EQ(late.Get().error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(late.Get().error().message, HasSubstr(path_));
  timers_.Advance(milliseconds(2900));
  EXPECT_EQ(Balance(), 7) << "until the commit is known the tokens stay taken";
  disk_.ReleaseSyncs();
  Flush();
  EXPECT_EQ(Balance(), 9);
}

TEST_F(SlowDiskTest, C5WhatTheCallerAdmitsAllTheSameStaysTaken) {
  disk_.HoldSyncs();
  CallResult<Decision> late = Acquire(3, In(milliseconds(100)), /*keep=*/true);
  disk_.AwaitHeldSync();
  timers_.Advance(milliseconds(100));
  ASSERT_TRUE(late.is_there());
  EXPECT_EQ(late.Get().error().code, Code::kDeadlineExceeded);
  disk_.ReleaseSyncs();
  Flush();
  EXPECT_EQ(Balance(), 6);
}

// Fails if: returned tokens are not in the file.
TEST_F(SlowDiskTest, C5TokensThatReturnAreInTheFile) {
  disk_.HoldSyncs();
  CallResult<Decision> late = Acquire(3, In(milliseconds(100)));
  disk_.AwaitHeldSync();
  timers_.Advance(milliseconds(100));
  ASSERT_TRUE(late.is_there());
  disk_.ReleaseSyncs();
  EXPECT_TRUE(backend_->Close());
  Open({});
  EXPECT_EQ(Balance(), 10);
}

// Fails if: the tokens of an expired call that no commit included are not returned on closing.
TEST_F(SlowDiskTest, C5TokensThatReturnWhileTheFileClosesAreInIt) {
  CallResult<Decision> hangs = Hang();
  CallResult<Decision> behind = Acquire(2, In(milliseconds(50)));
  timers_.Advance(milliseconds(50));
  ASSERT_TRUE(behind.is_there());
  {
    const std::jthread closing([&] { EXPECT_TRUE(backend_->Close()); });
    while (!IsClosed()) std::this_thread::yield();
    disk_.ReleaseSyncs();
  }
  EXPECT_TRUE(hangs.Get());
  Open({});
  EXPECT_EQ(Balance(), 10 - 1);
}

// Fails if: a call that waits for the next commit while one hangs has no deadline.
TEST_F(SlowDiskTest, C5ACallBehindTheCommitIsAnsweredAtItsDeadline) {
  CallResult<Decision> hangs = Hang();
  CallResult<Decision> behind = Acquire(2, In(milliseconds(50)));
  CallResult<Decision> patient = Acquire(2, In(milliseconds(500)));
  timers_.Advance(milliseconds(50));
  ASSERT_TRUE(behind.is_there());
  EXPECT_FALSE(patient.is_there());
  disk_.ReleaseSyncs();
  EXPECT_TRUE(hangs.Get());
  EXPECT_TRUE(patient.Get()->admitted);
  Flush();
  EXPECT_EQ(Balance(), 10 - 1 - 2 - 1);
}

TEST_F(SlowDiskTest, C5AnAdjustThatIsAnsweredAtItsDeadlineIsMade) {
  CallResult<Decision> hangs = Hang();
  CallResult<void> adjusted;
  backend_->buckets().Adjust(std::vector{Take(acme_, 2)}, AdjustId{1, 2}, now(),
                             In(milliseconds(100)), adjusted.done());
  timers_.Advance(milliseconds(100));
  ASSERT_TRUE(adjusted.is_there());
  EXPECT_EQ(adjusted.Get().error().code, Code::kDeadlineExceeded);
  disk_.ReleaseSyncs();
  EXPECT_TRUE(hangs.Get());
  EXPECT_EQ(Balance(), 7);
}

// Fails if: reads of settings wait while a setting is written.
TEST_F(SlowDiskTest, C5ASettingThatHangsStopsNoReader) {
  disk_.HoldSyncs();
  CallResult<void> created = Create("acme", In(milliseconds(100)));
  disk_.AwaitHeldSync();
  EXPECT_FALSE(Exists("acme"));
  timers_.Advance(milliseconds(100));
  ASSERT_TRUE(created.is_there());
  EXPECT_EQ(created.Get().error().code, Code::kDeadlineExceeded);
  disk_.ReleaseSyncs();
  EXPECT_TRUE(Create("globex", Deadline::Never()).Get());
  EXPECT_TRUE(Exists("acme")) << "it had begun";
}

TEST_F(SlowDiskTest, C5ASettingWhoseTurnDoesNotComeIsNotMade) {
  CallResult<Decision> hangs = Hang();
  CallResult<void> created = Create("acme", In(milliseconds(100)));
  timers_.Advance(milliseconds(100));
  ASSERT_TRUE(created.is_there());
  EXPECT_EQ(created.Get().error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(created.Get().error().message, HasSubstr("nothing was done"));
  disk_.ReleaseSyncs();
  EXPECT_TRUE(Create("globex", Deadline::Never()).Get());
  EXPECT_FALSE(Exists("acme"));
}

// Each call returns while the disk hangs; a call that waits for the disk would not return. Fails
// if: one of them waits for the disk.
TEST_F(SlowDiskTest, C5NoCallWaitsForTheDisk) {
  CallResult<Decision> hangs = Hang();
  CallResult<Decision> decision = Acquire(1, In(milliseconds(100)));
  CallResult<void> created = Create("acme", In(milliseconds(100)));
  EXPECT_FALSE(Exists("acme"));
  EXPECT_EQ(Balance(), 8);
  CallResult<Page<AuditEvent>> events;
  backend_->audit().List("acme", {}, In(milliseconds(100)), events.done());
  CallResult<Page<UsageSnapshot>> usage;
  backend_->usage().List({}, {}, In(milliseconds(100)), usage.done());
  timers_.Advance(milliseconds(100));
  EXPECT_TRUE(decision.is_there() && created.is_there() && events.is_there() && usage.is_there());
  disk_.ReleaseSyncs();
  EXPECT_TRUE(hangs.Get());
}

TEST_F(SlowDiskTest, C5AtMostSoManyCallsWait) {
  EXPECT_TRUE(backend_->Close());
  Open({.durability = Durability::kStrict, .max_waiting = 2});
  CallResult<Decision> first = Hang();
  CallResult<Decision> second = Acquire(1, In(milliseconds(100)));
  CallResult<Decision> third = Acquire(1, In(milliseconds(100)));
  ASSERT_TRUE(third.is_there());
  EXPECT_EQ(third.Get().error().code, Code::kUnavailable);
  EXPECT_THAT(third.Get().error().message,
              HasSubstr("too many calls wait for the disk (max_waiting is 2)"));
  EXPECT_EQ(Balance(), 8) << "nothing is taken";
  timers_.Advance(milliseconds(100));
  EXPECT_TRUE(second.is_there());
  disk_.ReleaseSyncs();
  EXPECT_TRUE(first.Get());
}

// Fails if: the second call releases the file's lock while the first still writes.
TEST_F(SlowDiskTest, C24ClosingTwiceKeepsTheLockUntilTheFileIsClosed) {
  CallResult<Decision> hangs = Hang();
  std::atomic<bool> second_returned = false;
  std::jthread first([&] { EXPECT_TRUE(backend_->Close()); });
  while (!IsClosed()) std::this_thread::yield();
  std::jthread second([&] {
    EXPECT_TRUE(backend_->Close());
    second_returned = true;
  });
  sim::SimScheduler other;
  bool is_free = false;
  for (int i = 0; i < 1000 && !is_free; ++i) {
    is_free = second_returned || OpenEmbedded(path_, other).has_value();
    std::this_thread::yield();
  }
  disk_.ReleaseSyncs();  // before anything can end the test, whose threads wait for it
  EXPECT_FALSE(is_free);
  EXPECT_TRUE(hangs.Get());
}

// Fails if: callbacks run while Close holds its lock.
TEST_F(SlowDiskTest, AnAnswerMayCallClose) {
  disk_.HoldSyncs();
  std::binary_semaphore completed{0};
  const std::vector<Charge> charges = {Take(acme_, 1)};
  backend_->buckets().Acquire(charges, now(), Deadline::Never(), [&](const Result<Decision>& got) {
    EXPECT_TRUE(got);
    EXPECT_TRUE(backend_->Close());
    completed.release();
  });
  disk_.AwaitHeldSync();
  // Waits for the commit that Close makes.
  CallResult<Decision> last = Acquire(1, Deadline::Never());
  std::jthread closing([&] { EXPECT_TRUE(backend_->Close()); });
  while (!IsClosed()) std::this_thread::yield();
  disk_.ReleaseSyncs();
  completed.acquire();
  EXPECT_TRUE(last.Get());
}

// Fails if: the deadlines of calls that wait when the file is closed fire only when the disk
// responds.
TEST_F(SlowDiskTest, DeadlinesFireWhileTheFileIsClosed) {
  // Shared, because the test does not wait for the end of this task.
  struct Gate {
    std::binary_semaphore busy{0};
    std::binary_semaphore go_on{0};
  };
  const auto gate = std::make_shared<Gate>();
  file_io_.At(file_io_.clock().Now(), [gate] {
    gate->busy.release();
    gate->go_on.acquire();
  });
  gate->busy.acquire();  // so that the commit of Close is the first that includes the waiting calls
  CallResult<Decision> late = Acquire(1, In(milliseconds(100)));
  CallResult<void> setting = Create("acme", Deadline::Never());
  disk_.HoldSyncs();
  std::jthread closing([&] { EXPECT_TRUE(backend_->Close()); });
  EXPECT_EQ(setting.Get().error().code, Code::kUnavailable) << "it can only be refused";
  disk_.AwaitHeldSync();
  timers_.Advance(milliseconds(100));
  EXPECT_TRUE(late.is_there());
  disk_.ReleaseSyncs();
  gate->go_on.release();
  closing.join();
  EXPECT_FALSE(late.Get());
  EXPECT_EQ(late.Get().error().code, Code::kDeadlineExceeded);
}

}  // namespace
}  // namespace weir
