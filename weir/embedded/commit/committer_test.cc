// Tests when commits happen, and which calls wait for them.
#include "weir/embedded/commit/committer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "weir/embedded/file/file_check.h"
#include "weir/embedded/file/sqlite.h"
#include "weir/embedded/testing/embedded_fixture.h"
#include "weir/embedded/testing/faulty_vfs.h"
#include "weir/runtime/await.h"
#include "weir/runtime/loop.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

const EmbeddedOptions kStrict{.durability = Durability::kStrict};

class CommitterTest : public EmbeddedTest {
 protected:
  // Begins an acquire. Returns an object that will have its result.
  std::shared_ptr<std::optional<Result<Decision>>> Begin(const TargetPtr& target,
                                                         std::int64_t tokens) {
    auto received = std::make_shared<std::optional<Result<Decision>>>();
    const std::vector<Charge> charges = {Take(target, tokens)};
    client_.backend().buckets().Acquire(
        charges, client_.now(), Deadline::Never(),
        [received](Result<Decision> result) { *received = result; });
    return received;
  }
  EmbeddedStats stats() { return client_.backend().stats(); }
  std::size_t LogBytes() {
    const auto sum = RunSql(client_.CopyAsKilled(), "SELECT sum(length(data)) FROM change");
    return sum.at(0).empty() ? 0 : std::stoull(sum.at(0));
  }

  const TargetPtr acme_ = StillTarget("acme", 10);
  const TargetPtr globex_ = StillTarget("globex", 10);
};

TEST_F(CommitterTest, RelaxedAnswersAtOnceAndCommitsHalfAnIntervalAfterTheFirstChange) {
  ASSERT_TRUE(client_.Open({.commit_interval = milliseconds(10)}));
  EXPECT_TRUE(*Begin(acme_, 1));
  client_.scheduler().Advance(milliseconds(3));
  EXPECT_TRUE(*Begin(globex_, 1));
  EXPECT_EQ(stats().commits, 0U);
  client_.scheduler().Advance(milliseconds(2));
  EXPECT_EQ(stats().commits, 1U);
  EXPECT_EQ(stats().buckets_written, 2U);
}

TEST_F(CommitterTest, ABucketThatChangesOftenIsWrittenOnce) {
  ASSERT_TRUE(client_.Open());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE((*Begin(acme_, 1))->value().admitted);
  client_.Commit();
  EXPECT_EQ(stats().buckets_written, 1U);
  EXPECT_GT(stats().bytes_written, 50U);
  EXPECT_LT(stats().bytes_written, 150U);
}

TEST_F(CommitterTest, NothingIsWrittenWhereNothingChanges) {
  ASSERT_TRUE(client_.Open());
  EXPECT_FALSE((*Begin(acme_, 10))->value().admitted == false);
  client_.Commit();
  EXPECT_FALSE((*Begin(acme_, 1))->value().admitted);
  client_.scheduler().RunAll();
  EXPECT_EQ(stats().commits, 1U);
}

// C2. Fails if: an acquire of 0 tokens, or a refused override, stores its limits in the file.
TEST_F(CommitterTest, C2ALookOrARefusedOverrideWritesNothing) {
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE((*Begin(acme_, 10))->value().admitted);
  client_.Commit();
  const TargetPtr other = StillTarget("acme", 12);
  EXPECT_FALSE((*Begin(MakeTarget(other->key, other->limits, LimitSource::kOverride), 12))
                   ->value()
                   .admitted);
  EXPECT_TRUE((*Begin(other, 0))->value().admitted);
  client_.scheduler().Advance(milliseconds(5));
  EXPECT_EQ(stats().commits, 1U);
  EXPECT_THAT(RunSql(client_.CopyAsKilled(), "SELECT tokens, capacity FROM limits_view"),
              ElementsAre("0.0|10.0"));
}

TEST_F(CommitterTest, StrictAnswersAfterTheCommit) {
  ASSERT_TRUE(client_.Open(kStrict));
  const auto received = Begin(acme_, 1);
  EXPECT_FALSE(*received);
  EXPECT_EQ(client_.scheduler().RunReady(), 1U) << "at once, not an interval later";
  ASSERT_TRUE(*received);
  EXPECT_TRUE((*received)->value().admitted);
  EXPECT_EQ(stats().commits, 1U);
}

TEST_F(CommitterTest, StrictAnswersShareACommit) {
  ASSERT_TRUE(client_.Open(kStrict));
  std::vector<std::shared_ptr<std::optional<Result<Decision>>>> results;
  for (int i = 0; i < 10; ++i) results.push_back(Begin(acme_, 1));
  client_.scheduler().RunReady();
  for (const auto& received : results) EXPECT_TRUE(*received);
  EXPECT_EQ(stats().commits, 1U);
}

TEST_F(CommitterTest, ARefusalWaitsForNothing) {
  ASSERT_TRUE(client_.Open(kStrict));
  Begin(acme_, 10);
  const auto refused = Begin(acme_, 1);
  ASSERT_TRUE(*refused);
  EXPECT_FALSE((*refused)->value().admitted);
}

// Fails if: a repeated adjust completes before the first one is committed.
TEST_F(CommitterTest, ARepeatedAdjustWaitsForTheCommitOfTheFirst) {
  ASSERT_TRUE(client_.Open(kStrict));
  int results = 0;
  const std::vector<Charge> charges = {Take(acme_, 1)};
  for (int i = 0; i < 2; ++i) {
    client_.backend().buckets().Adjust(charges, AdjustId{1, 2}, client_.now(), Deadline::Never(),
                                       [&](Status status) { results += status ? 1 : 100; });
  }
  EXPECT_EQ(results, 0);
  client_.scheduler().RunReady();
  EXPECT_EQ(results, 2);
  EXPECT_EQ(client_.Balance(acme_), 9000);
}

TEST_F(CommitterTest, TheLongestGapIsToldAsItWas) {
  ASSERT_TRUE(client_.Open({.commit_interval = milliseconds(10)}));
  Begin(acme_, 1);
  client_.scheduler().Advance(milliseconds(5));
  EXPECT_EQ(stats().longest_gap, milliseconds(5));
  client_.scheduler().Advance(seconds(30));
  Begin(acme_, 1);
  client_.scheduler().Advance(milliseconds(2));
  Begin(acme_, 1);
  client_.scheduler().sim_clock().Advance(milliseconds(40));  // the scheduler was busy
  client_.scheduler().RunReady();
  EXPECT_EQ(stats().longest_gap, milliseconds(42));
}

TEST_F(CommitterTest, AnIdleLogIsFolded) {
  ASSERT_TRUE(client_.Open());
  Begin(acme_, 1);
  client_.Commit();
  EXPECT_GT(LogBytes(), 0U);
  client_.scheduler().Advance(milliseconds(900));
  EXPECT_GT(LogBytes(), 0U);
  client_.scheduler().Advance(milliseconds(200));
  EXPECT_EQ(LogBytes(), 0U);
  EXPECT_EQ(client_.scheduler().pending(), 0U) << "and then nothing is to be done";
}

TEST_F(CommitterTest, ALogThatAKilledProcessLeftIsFolded) {
  ASSERT_TRUE(client_.Open());
  Begin(acme_, 1);
  client_.Commit();
  EmbeddedClient after(client_.CopyAsKilled());
  ASSERT_TRUE(after.Open());
  ASSERT_TRUE(after.scheduler().RunAll());
  EXPECT_THAT(RunSql(after.CopyAsKilled(), "SELECT count(*) FROM change"), ElementsAre("0"));
  EXPECT_EQ(after.Balance(acme_), 9000);
}

// Fails if: a fold progresses more slowly than the log grows.
TEST_F(CommitterTest, TheLogStaysBounded) {
  constexpr std::size_t kBound = 1'250'000;
  constexpr int kBuckets = 10'000;
  ASSERT_TRUE(client_.Open({.fold_bytes = kBound}));
  std::vector<TargetPtr> targets;
  for (int i = 0; i < kBuckets; ++i) targets.push_back(StillTarget(fmt::format("acme-{}", i)));
  std::size_t longest = 0;
  for (std::size_t round = 0; round < 120; ++round) {
    for (std::size_t i = 0; i < 500; ++i) Begin(targets[(round * 500 + i) % kBuckets], 1);
    client_.Commit();
    if (round % 8 == 0) longest = std::max(longest, LogBytes());
  }
  EXPECT_GT(stats().bytes_written, 5 * kBound);
  EXPECT_GT(longest, kBound);
  EXPECT_LT(longest, 5 * kBound / 2);
}

TEST_F(CommitterTest, TheWriteAheadLogStaysBounded) {
  ASSERT_TRUE(client_.Open({.fold_bytes = 1u << 20}));
  std::uintmax_t longest = 0;
  for (int round = 0; round < 60; ++round) {
    for (int i = 0; i < 3000; ++i) Begin(StillTarget(fmt::format("acme-{}", i)), 1);
    client_.Commit();
    longest = std::max(longest, std::filesystem::file_size(client_.path() + "-wal"));
  }
  EXPECT_GT(stats().bytes_written, 15'000'000U);
  EXPECT_LT(longest, 12'000'000U);
}

TEST_F(CommitterTest, ClosingAnswersThoseWhoWait) {
  ASSERT_TRUE(client_.Open(kStrict));
  const auto received = Begin(acme_, 1);
  std::optional<Status> config;
  client_.backend().config().Apply({CreateEntity{{.entity = {.id = "acme"}}}}, Deadline::Never(),
                                   [&](Status status) { config = status; });
  EXPECT_TRUE(client_.Close());
  ASSERT_TRUE(*received);
  EXPECT_TRUE((*received)->value().admitted);
  ASSERT_TRUE(config);
  ASSERT_FALSE(*config);
  EXPECT_EQ(config->error().code, Code::kUnavailable);
  ASSERT_TRUE(client_.Open());
  EXPECT_EQ(client_.Balance(acme_), 9000);
}

TEST_F(CommitterTest, TasksThatAreLeftOverTouchNothing) {
  ASSERT_TRUE(client_.Open());
  Begin(acme_, 1);
  EXPECT_EQ(client_.scheduler().pending(), 1U);
  ASSERT_TRUE(client_.Close());
  EXPECT_TRUE(client_.scheduler().RunAll());
}

TEST_F(CommitterTest, ChangesOfLimitsThatComeTooLateAreNotMade) {
  ASSERT_TRUE(client_.Open());
  std::optional<Status> received;
  client_.backend().config().Apply({CreateEntity{{.entity = {.id = "acme"}}}},
                                   Deadline::After(client_.scheduler().clock(), milliseconds(10)),
                                   [&](Status status) { received = status; });
  client_.scheduler().sim_clock().Advance(milliseconds(10));
  client_.scheduler().RunReady();
  ASSERT_TRUE(received);
  EXPECT_EQ(received->error().code, Code::kDeadlineExceeded);
  EXPECT_TRUE(client_.Apply({CreateEntity{{.entity = {.id = "acme"}}}})) << "it did not exist";
}

class FailingTest : public CommitterTest {
 protected:
  void TearDown() override { (void)client_.Close(); }  // before disk_ is destroyed

  static Status Create(EmbeddedClient& client, const std::string& id) {
    return client.Apply({CreateEntity{{.entity = {.id = id}}}});
  }
  // Returns the path of a copy of the files as a power loss now would leave them.
  std::string CopySynced() {
    std::string copy = folder_ / fmt::format("synced-{}", ++copies_);
    disk_.CopySynced(client_.path(), copy);
    return copy;
  }
  // Expects that an entity exists after a power loss.
  void ExpectInSynced(const std::string& id) {
    EmbeddedClient after(CopySynced());
    const Status opened = after.Open();
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_FALSE(Create(after, id)) << id << " is lost";
  }

  int copies_ = 0;
  FaultyVfs disk_{"disk"};
  EmbeddedOptions relaxed_{.vfs = disk_.name()};
  EmbeddedOptions strict_{.durability = Durability::kStrict, .vfs = disk_.name()};
};

TEST_F(FailingTest, WhileCommitsFailNothingIsTakenAndTheCauseIsTold) {
  ASSERT_TRUE(client_.Open(relaxed_));
  disk_.FailFromNowOn(FaultyVfs::Fault::kError);
  ASSERT_TRUE((*Begin(acme_, 1))->value().admitted);
  client_.scheduler().Advance(milliseconds(5));
  const auto refused = client_.Acquire({Take(acme_, 1)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr(client_.path() + ": disk I/O error"));
  EXPECT_EQ(client_.Adjust({Take(acme_, 1)}).error().code, Code::kUnavailable);
  EXPECT_EQ(client_.Apply({CreateEntity{{.entity = {.id = "acme"}}}}).error().code,
            Code::kUnavailable);
  EXPECT_EQ(client_.Balance(acme_), 9000) << "reading goes on";
  EXPECT_EQ(stats().commit_failures, 1U);
  EXPECT_EQ(stats().commits, 0U);
}

TEST_F(FailingTest, GoesOnWhenTheDiskIsWellAgain) {
  ASSERT_TRUE(client_.Open(relaxed_));
  disk_.FailFromNowOn(FaultyVfs::Fault::kFull);
  ASSERT_TRUE((*Begin(acme_, 1))->value().admitted);
  client_.scheduler().Advance(seconds(60));
  EXPECT_THAT(client_.Acquire({Take(acme_, 1)}).error().message, HasSubstr("full"));
  disk_.Heal();
  client_.scheduler().Advance(seconds(5));
  ASSERT_TRUE(client_.Acquire({Take(acme_, 1)}));
  client_.Commit();
  EmbeddedClient after(client_.CopyAsKilled());
  ASSERT_TRUE(after.Open());
  EXPECT_EQ(after.Balance(acme_), 8000);
  EXPECT_GE(stats().longest_gap, seconds(60)) << "so long the first change was in memory alone";
}

TEST_F(FailingTest, TriesAgainEverMoreSlowly) {
  ASSERT_TRUE(client_.Open(relaxed_));
  disk_.FailFromNowOn(FaultyVfs::Fault::kError);
  Begin(acme_, 1);
  client_.scheduler().Advance(seconds(60));
  EXPECT_GT(stats().commit_failures, 12U);
  EXPECT_LT(stats().commit_failures, 120U);
  EXPECT_LE(client_.scheduler().pending(), 1U);
}

// Fails if: a completed change of settings follows, in the write-ahead log, pages that a sync lost.
TEST_F(FailingTest, SettingsAnsweredAfterALostSyncSurviveAPowerLoss) {
  ASSERT_TRUE(client_.Open(relaxed_));
  const auto create = [](EmbeddedClient& client, const std::string& id) {
    return client.Apply({CreateEntity{{.entity = {.id = id}}}});
  };
  std::uint64_t failures = 0;
  for (std::uint64_t operation = 1; operation <= 12; ++operation) {
    const std::string number = std::to_string(operation);
    ASSERT_TRUE(client_.Acquire({Take(StillTarget("user-" + number), 1)}));  // not synced
    client_.Commit();
    disk_.FailAt(operation, FaultyVfs::Fault::kError);
    (void)create(client_, "perhaps-" + number);
    failures += disk_.failures();
    disk_.Heal();
    client_.scheduler().Advance(seconds(10));
    ASSERT_TRUE(create(client_, "last-" + number));
    const std::string lost = folder_ / ("after-" + number);
    disk_.CopySynced(client_.path(), lost);
    EmbeddedClient after(lost);
    ASSERT_TRUE(after.Open());
    EXPECT_FALSE(create(after, "last-" + number)) << operation;
  }
  EXPECT_GE(failures, 3U);
}

// Fails if: settings count as stored although the log before them has lost pages, because another
// process reads the log.
TEST_F(FailingTest, SettingsFailAfterALostSyncWhileAnotherProcessReads) {
  ASSERT_TRUE(client_.Open(relaxed_));
  const auto create = [this](const std::string& id) {
    return client_.Apply({CreateEntity{{.entity = {.id = id}}}});
  };
  ASSERT_TRUE(create("first"));
  std::optional<sqlite::Connection> reader = *sqlite::Connection::OpenToRead(client_.path(), "");
  ASSERT_TRUE(reader->Execute("BEGIN; SELECT COUNT(*) FROM sqlite_schema"));
  ASSERT_TRUE(client_.Acquire({Take(StillTarget("user"), 1)}));  // not synced
  client_.Commit();
  std::uint64_t failures = 0;
  for (std::uint64_t operation = 1; failures == 0; ++operation) {
    disk_.FailAt(operation, FaultyVfs::Fault::kError);
    (void)create("perhaps-" + std::to_string(operation));
    failures = disk_.failures();
    disk_.Heal();
    client_.scheduler().Advance(seconds(10));
  }
  const auto expect_refused = [&] {
    const Status refused = create("last");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("another process reads the file"));
  };
  expect_refused();
  for (int i = 0; i < 1'100; ++i) {  // the log is long, so a checkpoint tries to copy it
    ASSERT_TRUE(client_.Acquire({Take(StillTarget("user-" + std::to_string(i)), 1)}));
    client_.Commit();
  }
  expect_refused();
  reader.reset();
  EXPECT_TRUE(create("last"));
}

// The disk is full, and the checkpoint that would make room fails. Fails if: a completed change of
// settings follows, in the write-ahead log, pages that the sync of this checkpoint lost.
TEST_F(FailingTest, SettingsSurviveAPowerLossAfterAFullDiskAndALostSync) {
  ASSERT_TRUE(client_.Open(relaxed_));
  for (std::uint64_t operation = 1; operation <= 4; ++operation) {
    for (std::uint64_t more = 0; more <= 3; ++more) {
      const std::string number = fmt::format("{}-{}", operation, more);
      SCOPED_TRACE(number);
      ASSERT_TRUE(client_.Acquire({Take(StillTarget("user-" + number), 1)}));
      client_.Commit();  // not synced
      ASSERT_TRUE(client_.Acquire({Take(StillTarget("other-" + number), 1)}));
      disk_.FailAt(operation, FaultyVfs::Fault::kFull, more);
      client_.scheduler().Advance(milliseconds(6));
      disk_.Heal();
      client_.scheduler().Advance(milliseconds(300));
      ASSERT_TRUE(Create(client_, "last-" + number));
      ExpectInSynced("last-" + number);
      client_.scheduler().Advance(seconds(10));
      ASSERT_TRUE(Create(client_, "clean-" + number));
    }
  }
}

// Fails if: a completed change of settings follows pages that were lost by a sync while the log was
// not in place.
TEST_F(FailingTest, SettingsSurviveAPowerLossAfterALostSyncOfAMovedLog) {
  ASSERT_TRUE(client_.Open(relaxed_));
  ASSERT_TRUE(client_.Acquire({Take(acme_, 1)}));
  client_.Commit();  // not synced
  std::filesystem::rename(client_.path() + "-wal", folder_ / "moved-wal");
  disk_.FailFromNowOn(FaultyVfs::Fault::kError);
  ASSERT_TRUE(client_.Acquire({Take(acme_, 1)}));
  client_.scheduler().Advance(milliseconds(6));
  ASSERT_EQ(stats().commit_failures, 1U);
  std::filesystem::rename(folder_ / "moved-wal", client_.path() + "-wal");
  disk_.Heal();
  client_.scheduler().Advance(milliseconds(300));
  ASSERT_TRUE(Create(client_, "last"));
  ExpectInSynced("last");
}

// Fails if: commits follow, in the log that a killed process left, pages that a sync lost in that
// process.
TEST_F(FailingTest, CommitsBehindTheLogOfAKilledProcessSurviveAPowerLoss) {
  for (const EmbeddedOptions& options : {strict_, relaxed_}) {
    const std::string name = options.durability == Durability::kStrict ? "strict" : "relaxed";
    SCOPED_TRACE(name);
    ASSERT_TRUE(client_.Open(options));
    ASSERT_TRUE(Create(client_, "first-" + name));
    ASSERT_TRUE(client_.Close());
    {
      auto killed = *sqlite::Connection::Open(client_.path(), disk_.name());
      killed.KeepWalOnClose(true);
      ASSERT_TRUE(killed.Execute("PRAGMA synchronous = NORMAL"));
      ASSERT_TRUE(killed.InTransaction(
          [&] { return killed.Execute("UPDATE entity SET name = 'changed'"); }));
      disk_.FailAt(1, FaultyVfs::Fault::kError);
      ASSERT_FALSE(killed.Checkpoint());
      disk_.Heal();
    }
    ASSERT_TRUE(client_.Open(options));
    ASSERT_TRUE(client_.Acquire({Take(acme_, 1)}));
    if (options.durability == Durability::kRelaxed) {
      ASSERT_TRUE(Create(client_, "last-" + name));
    }
    const std::string lost = CopySynced();
    ASSERT_TRUE(client_.Close());
    EmbeddedClient after(lost);
    ASSERT_TRUE(after.Open());
    if (options.durability == Durability::kStrict) {
      EXPECT_EQ(after.Balance(acme_), 9000);
    } else {
      EXPECT_FALSE(Create(after, "last-" + name)) << "it exists";
    }
  }
}

// A transaction of several frames fails, a shorter one follows, and the process is killed. Fails
// if: the frames of the first that are left look like a commit that was lost.
TEST_F(FailingTest, FramesOfAFailedCommitAreNoDamage) {
  std::vector<ConfigChange> many;
  for (int i = 0; i < 300; ++i) {
    many.push_back(CreateEntity{{.entity = {.id = fmt::format("tenant-{}", i)}}});
  }
  for (const EmbeddedOptions& options : {strict_, relaxed_}) {
    std::uint64_t operation = 0;
    for (bool failed = true; failed;) {
      SCOPED_TRACE(fmt::format("operation {} fails", ++operation));
      EmbeddedClient client(folder_ / fmt::format("{}.db", operation));
      ASSERT_TRUE(client.Open(options));
      ASSERT_TRUE(client.Acquire({Take(acme_, 1)}));
      disk_.FailAt(operation, FaultyVfs::Fault::kError);
      (void)client.Apply(many);
      failed = disk_.failures() > 0;
      disk_.Heal();
      client.scheduler().Advance(seconds(6));
      ASSERT_TRUE(client.Acquire({Take(acme_, 1)}));
      if (options.durability == Durability::kRelaxed) client.Commit();
      const auto check = CheckFile({.path = client.CopyAsKilled()}, kNow);
      ASSERT_TRUE(check);
      EXPECT_TRUE(check->sound()) << check->damage.first().front();
      ASSERT_TRUE(client.Close());
      std::filesystem::remove(client.path());
    }
    EXPECT_GT(operation, 10U);
  }
}

TEST_F(FailingTest, AStrictAnswerIsTheErrorAndTheTokensStayTaken) {
  ASSERT_TRUE(client_.Open(strict_));
  disk_.FailAt(1, FaultyVfs::Fault::kError);
  const auto failed = client_.Acquire({Take(acme_, 3)});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kUnavailable);
  EXPECT_THAT(failed.error().message, HasSubstr("disk I/O error"));
  EXPECT_EQ(client_.Balance(acme_), 7000);
  client_.scheduler().RunAll();
  EXPECT_TRUE(client_.Acquire({Take(acme_, 1)})->admitted);
  EmbeddedClient after(client_.CopyAsKilled());
  ASSERT_TRUE(after.Open());
  EXPECT_EQ(after.Balance(acme_), 6000);
}

TEST_F(FailingTest, LimitsThatCouldNotBeWrittenAreNotSeen) {
  ASSERT_TRUE(client_.Open(relaxed_));
  disk_.FailAt(1, FaultyVfs::Fault::kError);
  const LevelLimits limits{.limits = {{"rpm", PerMinute(5)}}};
  const Status failed = client_.Apply({PutLimits{Level::System(), limits}});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kUnavailable);
  const auto expect = [&](std::optional<LevelLimits> expected) {
    client_.backend().config().GetLimits(
        std::vector{Level::System()}, Deadline::Never(),
        [&](Result<std::vector<std::optional<LevelLimits>>> found) {
          EXPECT_THAT(*found, ElementsAre(expected));
        });
  };
  expect(std::nullopt);
  ASSERT_TRUE(client_.Apply({PutLimits{Level::System(), limits}}));
  expect(limits);
}

TEST_F(FailingTest, AnEntityThatCouldNotBeDeletedKeepsItsBuckets) {
  ASSERT_TRUE(client_.Open(relaxed_));
  Begin(acme_, 3);
  client_.Commit();
  disk_.FailAt(1, FaultyVfs::Fault::kError);
  EXPECT_FALSE(client_.Apply({DeleteEntity{"acme"}}));
  EXPECT_EQ(client_.Balance(acme_), 7000);
  ASSERT_TRUE(client_.Close());
  ASSERT_TRUE(client_.Open());
  EXPECT_EQ(client_.Balance(acme_), 7000);
}

// Fails if: a call gets the error of the last commit although closing stores its change.
TEST_F(FailingTest, ACallWhoseChangeIsStoredByClosingSucceeds) {
  for (const bool has_log : {true, false}) {
    SCOPED_TRACE(has_log);
    ASSERT_TRUE(client_.Open(strict_));
    if (has_log) {
      ASSERT_TRUE(client_.Acquire({Take(acme_, 1)})->admitted);
    }
    const auto received = Begin(has_log ? acme_ : globex_, 3);
    ASSERT_FALSE(*received);
    disk_.FailAt(1, FaultyVfs::Fault::kError);
    EXPECT_FALSE(client_.Close()) << "the disk failed";
    ASSERT_TRUE(*received);
    ASSERT_TRUE(**received) << (*received)->error().message;
    EXPECT_TRUE((*received)->value().admitted);
  }
  ASSERT_TRUE(client_.Open());
  EXPECT_EQ(client_.Balance(acme_), 6000);
  EXPECT_EQ(client_.Balance(globex_), 7000);
}

TEST_F(FailingTest, ClosingTellsWhatCouldNotBeKept) {
  ASSERT_TRUE(client_.Open(relaxed_));
  Begin(acme_, 1);
  disk_.FailFromNowOn(FaultyVfs::Fault::kFull);
  const Status closed = client_.Close();
  ASSERT_FALSE(closed);
  EXPECT_THAT(closed.error().message, HasSubstr("full"));
  disk_.Heal();
  ASSERT_TRUE(client_.Open());
  EXPECT_EQ(client_.Balance(acme_), 10'000) << "as of the last commit";
}

// Several threads charge a backend until another thread closes it.
class ClosingTest : public testing::TestWithParam<Durability> {
 protected:
  // Returns the number of admitted tokens, which are taken one by one.
  std::int64_t ChargeAndClose() {
    Loop loop(clock_);
    auto backend = *OpenEmbedded(path_, loop, {.durability = GetParam(), .fold_bytes = 1000});
    std::atomic<std::int64_t> admitted = 0;
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&] {
          while (Charge(*backend)) ++admitted;
        });
      }
      while (admitted < 100) std::this_thread::yield();
      EXPECT_TRUE(backend->Close());
    }
    return admitted;
  }

  bool Charge(EmbeddedBackend& backend) {
    const std::vector charges = {Take(shared_, 1)};
    return Await<Decision>([&](Done<Decision> done) {
             backend.buckets().Acquire(charges, {0}, Deadline::Never(), std::move(done));
           })
        .has_value();
  }

  static constexpr int kThreads = 3;
  static constexpr std::int64_t kTokens = 1'000'000'000;
  SystemClock clock_;
  TempFolder folder_;
  std::string path_ = folder_ / "weir.db";
  const TargetPtr shared_ = StillTarget("shared", kTokens);
};

// Fails if: an acquire after the last drain completes as if it had been included.
TEST_P(ClosingTest, KeepsWhatWasAdmittedMeanwhile) {
  std::int64_t admitted = 0;
  for (int round = 0; round < 20; ++round) {
    admitted += ChargeAndClose();
    EmbeddedClient after(path_);
    ASSERT_TRUE(after.Open());
    const std::int64_t kept = kTokens - after.Balance(shared_) / kMillitokens;
    ASSERT_GE(kept, admitted) << "round " << round;
    // A charge that returned an error because the backend is closed may have been stored.
    ASSERT_LE(kept, admitted + kThreads) << "round " << round;
    admitted = kept;
  }
}

INSTANTIATE_TEST_SUITE_P(Embedded, ClosingTest,
                         testing::Values(Durability::kRelaxed, Durability::kStrict),
                         [](const auto& param) {
                           return param.param == Durability::kStrict ? "strict" : "relaxed";
                         });

// C25. Fails if: on a full disk the write-ahead log is not restarted, although the file has space
// for its contents.
TEST_F(FailingTest, C25OnAFullDiskTheLogStartsOver) {
  const auto take = [&](int bucket) {
    const auto decision = client_.Acquire({Take(StillTarget(fmt::format("acme-{}", bucket)), 1)});
    return decision && decision->admitted;
  };
  // The fold at the end leaves free pages in the file.
  ASSERT_TRUE(client_.Open(strict_));
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(take(i));
  ASSERT_TRUE(client_.Close());
  ASSERT_TRUE(client_.Open(strict_));
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(take(i));
  disk_.ForbidGrowth();
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(take(i)) << i;
}

}  // namespace
}  // namespace weir
