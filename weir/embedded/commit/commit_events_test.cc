// Tests the log events and the counters of a file.
#include "weir/embedded/commit/commit_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/embedded/embedded_metrics.h"
#include "weir/embedded/testing/embedded_fixture.h"
#include "weir/embedded/testing/faulty_vfs.h"
#include "weir/telemetry/testing/recording_log_fixture.h"

namespace weir {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class CommitEventsTest : public testing::Test {
 protected:
  void Commit(const Status& status, nanoseconds took = nanoseconds(0)) {
    now_ = now_ + took;
    events_.Committed(status, took, now_);
  }

  RecordingLog log_;
  CommitEvents events_{log_, "weir.db"};
  Instant now_{0};
  const Status failed_ = Fail(Code::kUnavailable, "no space");
};

// Fails if: a disk that is full for an hour causes an event for each retry, or none when it has
// space again.
TEST_F(CommitEventsTest, FailuresAreOneEventInTenSecondsUntilOneSucceeds) {
  Commit(failed_);
  Commit(failed_);
  now_ = now_ + seconds(10);
  Commit(failed_);
  Commit({});
  Commit({});
  Commit(failed_);
  EXPECT_THAT(log_.lines(),
              ElementsAre("error commit.failed file=weir.db message=no space failures=1",
                          "error commit.failed file=weir.db message=no space failures=3",
                          "info commit.recovered file=weir.db failures=3",
                          "error commit.failed file=weir.db message=no space failures=1"));
}

TEST_F(CommitEventsTest, SlowCommitsAreOneEventInTenSeconds) {
  Commit({}, seconds(1));
  EXPECT_THAT(log_.lines(), IsEmpty());
  for (int i = 0; i < 5; ++i) Commit({}, milliseconds(3100));
  EXPECT_THAT(log_.lines(),
              ElementsAre("warning commit.slow file=weir.db took_ms=3100 suppressed=0",
                          "warning commit.slow file=weir.db took_ms=3100 suppressed=3"));
}

class FileEventsTest : public EmbeddedTest {
 protected:
  void TearDown() override { (void)client_.Close(); }  // before disk_ is destroyed

  RecordingLog log_;
  FaultyVfs disk_{"events_disk"};
  const EmbeddedOptions options_{.log = &log_, .vfs = disk_.name()};
  const TargetPtr acme_ = StillTarget("acme", 10);
};

TEST_F(FileEventsTest, ADiskThatFailsAndIsWellAgainIsReported) {
  ASSERT_TRUE(client_.Open(options_));
  disk_.FailFromNowOn(FaultyVfs::Fault::kFull);
  ASSERT_TRUE(client_.Acquire({Take(acme_, 1)}));
  client_.scheduler().Advance(milliseconds(5));
  ASSERT_THAT(log_.lines(), ElementsAre(AllOf(StartsWith("error commit.failed file="),
                                              HasSubstr("weir.db"), HasSubstr("full"))));
  disk_.Heal();
  client_.scheduler().Advance(seconds(5));
  EXPECT_THAT(log_.lines().back(), StartsWith("info commit.recovered file="));
}

// Fails if: an operator cannot distinguish a clean start from one after a kill.
TEST_F(FileEventsTest, AFileThatAKilledProcessLeftIsReported) {
  ASSERT_TRUE(client_.Open(options_));
  ASSERT_TRUE(client_.Acquire({Take(acme_, 1)}));
  client_.Commit();
  EmbeddedClient after(client_.CopyAsKilled());
  ASSERT_TRUE(client_.Close());
  ASSERT_TRUE(client_.Open(options_));
  EXPECT_THAT(log_.lines(), IsEmpty()) << "it was closed";
  ASSERT_TRUE(after.Open(options_));
  EXPECT_THAT(log_.lines(), ElementsAre(AllOf(StartsWith("info file.recovered file="),
                                              HasSubstr(after.path()), HasSubstr(" bytes="))));
}

// Fails if: a jump of the clock is noticed only when the configuration is changed.
TEST_F(FileEventsTest, AClockThatWasSetIsReportedWhileTokensAreTaken) {
  ASSERT_TRUE(client_.Open(options_));
  auto& clock = client_.scheduler().sim_clock();
  clock.SetWall(clock.WallNow() + std::chrono::hours(1));
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(client_.Acquire({Take(acme_, 0), Take(StillTarget("globex"), 1)}));
    client_.scheduler().Advance(seconds(1));
  }
  EXPECT_THAT(log_.lines(), ElementsAre("warning clock.jumped by_ms=3600000"));
}

TEST_F(FileEventsTest, CommitsHaveNamesInARegistry) {
  ASSERT_TRUE(client_.Open(options_));
  ASSERT_TRUE(client_.Acquire({Take(acme_, 1)}));
  client_.Commit();
  Registry registry;
  ASSERT_TRUE(client_.backend().RegisterMetrics(registry));
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("\nweir_file_commits_total 1\n"));
  EXPECT_THAT(text, HasSubstr("\nweir_file_commit_failures_total 0\n"));
  EXPECT_THAT(text, HasSubstr("\nweir_file_buckets_written_total 1\n"));
  EXPECT_THAT(text, HasSubstr("\nweir_file_waiting 0\n"));
  EXPECT_THAT(text, HasSubstr("\nweir_file_commit_seconds_count 1\n"));
}

}  // namespace
}  // namespace weir
