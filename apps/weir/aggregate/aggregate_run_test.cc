// The daemon and a replay as `weir aggregate` runs them, on a simulated table in simulated time.
#include "apps/weir/aggregate/aggregate_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/weir/files.h"
#include "weir/aggregator/testing/change_fixture.h"
#include "weir/base/testing/temp_folder_fixture.h"
#include "weir/dynamodb/streams/lease_table.h"
#include "weir/dynamodb/streams/sequence_number.h"
#include "weir/dynamodb/streams/stream_run.h"
#include "weir/dynamodb/streams/testing/streams_client.h"
#include "weir/sim/dynamodb/streams/dynamo_stream.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::app {
namespace {

using dynamo::BucketItem;
using testing::HasSubstr;

/// Simulated time passes while the caller waits for a timer.
class PassingTime final : public Scheduler {
 public:
  explicit PassingTime(sim::SimScheduler& sim) : sim_(sim) {}
  const Clock& clock() const override { return sim_.clock(); }
  void Post(Task task) override { sim_.Post(std::move(task)); }
  TimerId At(Instant when, Task task) override {
    sim_.Advance(when - sim_.clock().Now());
    task();
    return {};
  }
  bool Cancel(TimerId) override { return false; }

 private:
  sim::SimScheduler& sim_;
};

class AggregateRunTest : public testing::Test {
 protected:
  Result<Exit> Run(const AggregateOptions& given) {
    context_.emplace(process_, common_);
    options_.consumer.stream_arn =
        sim_.Ask<std::string>(
                [&](auto done) { dynamo::FindStream(sim_.table, dynamo::kNever, std::move(done)); })
            .value();
    const dynamo::DaemonParts parts{.streams = streams_,
                                    .table = sim_.table,
                                    .shard_leases = shard_leases_,
                                    .scheduler = sim_.scheduler,
                                    .log = NoLog()};
    looks_ = 0;
    if (!given.replay.shard.empty()) return RunReplay(given, *context_, parts, options_);
    return RunDaemon(given, *context_, parts, options_);
  }
  void Use(std::int64_t millitokens) {
    used_ += millitokens;
    sim_.Put(BucketItem({"acme", "api", 0}, {{"rpm", used_}}));
  }
  std::string Shard() { return sim_.server.Stream("limits")->shards().front().id; }

  dynamo::ZaeSimTable sim_;
  dynamo::SimTable lease_items_{dynamo::PlainLayout()};
  dynamo::LeaseTable shard_leases_{lease_items_.table, "leases"};
  dynamo::StreamsClient streams_{sim_.server};
  PassingTime time_{sim_.scheduler};
  dynamo::DaemonOptions options_{
      .aggregator = {}, .lease = {.owner = "weir"}, .consumer = {.owner = "one"}};
  std::int64_t used_ = 0;
  int looks_ = 0;
  int signal_at_ = 50;  ///< looks, ten in a second
  int second_at_ = 1'000;
  std::function<void()> at_signal_ = [] {};
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  CommonOptions common_;
  ProcessContext process_{.clock = sim_.scheduler.clock(),
                          .scheduler = time_,
                          .in = in_,
                          .out = out_,
                          .err = err_,
                          .environment = [](const std::string&) { return std::nullopt; },
                          .interrupted =
                              [this] {
                                if (++looks_ == signal_at_) at_signal_();
                                return looks_ >= signal_at_;
                              },
                          .signal = [] { return 15; },
                          .hurried = [this] { return ++looks_ >= second_at_; }};
  std::optional<Context> context_;
};

TEST_F(AggregateRunTest, ASignalDrainsAndTheMetricsArePrinted) {
  const TempFolder folder;
  AggregateOptions given;
  given.metrics = true;
  given.metrics_file = folder / "weir.prom";
  Use(3'000);
  const auto exit = Run(given);
  ASSERT_TRUE(exit) << exit.error().message;
  EXPECT_EQ(*exit, Exit::kDone);
  EXPECT_THAT(context_->result(), HasSubstr("updates        2\n"));
  EXPECT_THAT(context_->result(), HasSubstr("weir_aggregator_updates_total 2\n"));
  EXPECT_THAT(*ReadFile(given.metrics_file), HasSubstr("weir_aggregator_updates_total 2\n"));
}

// Fails if: a second signal has no effect while positions cannot be stored, or looks like success.
TEST_F(AggregateRunTest, ASecondSignalEndsItAtOnceWithTheExitCodeOfTheSignal) {
  Use(3'000);
  at_signal_ = [this] { lease_items_.client.refusal = "InternalServerError"; };
  second_at_ = signal_at_ + 15;
  const Instant begin = sim_.scheduler.clock().Now();
  const auto exit = Run({});
  ASSERT_TRUE(exit) << exit.error().message;
  EXPECT_EQ(static_cast<int>(*exit), 128 + 15);
  EXPECT_THAT(context_->warning(), HasSubstr("reads some records again"));
  EXPECT_LT(sim_.scheduler.clock().Now() - begin, std::chrono::seconds(8));
}

TEST_F(AggregateRunTest, ADrainThatCannotStoreItsPositionsFails) {
  Use(3'000);
  at_signal_ = [this] { lease_items_.client.refusal = "InternalServerError"; };
  const auto exit = Run({});
  ASSERT_FALSE(exit);
  EXPECT_EQ(exit.error().code, Code::kUnavailable);
  EXPECT_THAT(exit.error().message, HasSubstr(Shard()));
}

TEST_F(AggregateRunTest, AMetricsFileThatCannotBeWrittenIsAnErrorAtTheBeginning) {
  AggregateOptions given;
  given.metrics_file = "/no/such/folder/weir.prom";
  EXPECT_FALSE(Run(given));
  EXPECT_EQ(looks_, 0);
}

// Fails if: the error that ended the daemon is replaced by that of its last metrics.
TEST_F(AggregateRunTest, ALastMetricsFileThatCannotBeWrittenDoesNotHideTheEnd) {
  auto folder = std::make_optional<TempFolder>();
  AggregateOptions given;
  given.metrics_file = *folder / "weir.prom";
  Use(3'000);
  at_signal_ = [&] {
    folder.reset();
    lease_items_.client.refusal = "InternalServerError";
  };
  const auto exit = Run(given);
  ASSERT_FALSE(exit);
  EXPECT_THAT(exit.error().message, HasSubstr(Shard()));
}

TEST_F(AggregateRunTest, AReplayPrintsItsCountsAndEndsByItself) {
  Use(3'000);
  ASSERT_TRUE(Run({}));
  signal_at_ = 10'000;
  AggregateOptions given;
  const std::string first = *dynamo::NormalizeSequenceNumber(sim::ToSequenceText(1));
  given.replay = {.shard = Shard(), .from = first, .to = first};
  const auto exit = Run(given);
  ASSERT_TRUE(exit) << exit.error().message;
  EXPECT_EQ(*exit, Exit::kDone);
  EXPECT_THAT(context_->result(), HasSubstr("updates        0\n"));
  given.replay.from = "1";
  EXPECT_EQ(Run(given).error().code, Code::kInvalidArgument);
  given.replay.shard = "none";
  EXPECT_EQ(Run(given).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace weir::app
