// The requests that a decision costs, counted on the way to a real engine. Run it by
// tests/engines/run.py --faults.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <thread>

#include "tests/engines/fault_control.h"
#include "weir/backends/open.h"
#include "weir/limiter/limiter.h"
#include "weir/runtime/loop.h"

namespace weir {
namespace {

constexpr std::chrono::seconds kWait{30};

// Up to this delay, a write without a response is not joined by another one (BucketFlights).
constexpr std::chrono::milliseconds kQuick{10};

/// Waits until no earlier request is at the proxy, and resets the counts.
void AwaitQuiet() {
  while (TakeCounts()["peak"] != 0) {
  }
}

/// A process of its own on the table.
struct Process {
  explicit Process(const std::string& url) {
    auto opened = OpenBackend(url, clock);
    if (!opened) {
      std::cerr << opened.error().message << '\n';
      std::exit(1);
    }
    backend = std::move(*opened);
    limiter.emplace(*backend, loop);
    TakeCounts();
  }

  bool Ask(const std::string& entity, const std::string& resource) {
    const auto outcome =
        limiter->Acquire({.entity = entity, .resource = resource, .amounts = {{"rpm", 1}}},
                         Deadline::After(clock, kWait));
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome && outcome->admitted();
  }

  SystemClock clock;
  Loop loop{clock};
  std::unique_ptr<Backend> backend;
  std::optional<Limiter> limiter;
};

Limit Rpm(std::int64_t capacity) { return {"rpm", PerDay(1).Burst(capacity)}; }

class Requests : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    url_ = MakeTable("requests", ProxyUrl());
    Process process(url_);
    Entity child{.id = "child", .name = "child", .parent = "parent", .cascade = true};
    const Status applied = process.limiter->Apply(
        {PutLimits{Level::Resource("plenty"), {.limits = {Rpm(1000)}}},
         PutLimits{Level::Resource("scarce"), {.limits = {Rpm(1)}}}, PutEntity{{.entity = child}}},
        Deadline::After(process.clock, kWait));
    ASSERT_TRUE(applied) << applied.error().message;
  }
  void TearDown() override { Tell("mode pass"); }

  /// Returns the requests of the first decision that was quick: a slow one may send a write twice.
  /// Each decision takes one token of "plenty".
  static Counts QuickDecision(Process& process, const std::string& entity) {
    const Deadline deadline = Deadline::After(process.clock, kWait);
    while (!deadline.ExpiredAt(process.clock.Now())) {
      AwaitQuiet();
      const Instant asked = process.clock.Now();
      EXPECT_TRUE(process.Ask(entity, "plenty"));
      if (process.clock.Now() < asked + kQuick) return TakeCounts();
    }
    ADD_FAILURE() << "no decision in 30 s took less than 10 ms";
    return {};
  }

  static inline std::string url_;
};

TEST_F(Requests, AWarmDecisionIsOneWriteAndNoRead) {
  Process process(url_);
  EXPECT_TRUE(process.Ask("warm", "plenty"));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(QuickDecision(process, "warm"),
              (Counts{{"UpdateItem", 1}, {"peak", 1}, {"turns", 1}}));
  }
}

TEST_F(Requests, ARefusalIsRepeatedWithoutOne) {
  Process process(url_);
  EXPECT_TRUE(process.Ask("poor", "scarce"));
  EXPECT_FALSE(process.Ask("poor", "scarce"));
  AwaitQuiet();
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(process.Ask("poor", "scarce"));
  EXPECT_EQ(TakeCounts(), (Counts{{"peak", 0}, {"turns", 0}}));
}

// An image that is older than a second is read again once: the refusals after that are local.
TEST_F(Requests, ARefusalIsLookedUpOnceItIsOld) {
  Process process(url_);
  process.Ask("old", "scarce");
  EXPECT_FALSE(process.Ask("old", "scarce"));
  std::this_thread::sleep_for(std::chrono::milliseconds(1'100));
  TakeCounts();
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(process.Ask("old", "scarce"));
  EXPECT_EQ(TakeCounts()["turns"], 1);
}

// The proxy responds to neither write before both have arrived.
TEST_F(Requests, AWarmCascadeIsTwoWritesAtOnce) {
  Process process(url_);
  EXPECT_TRUE(process.Ask("child", "plenty"));
  Tell("mode hold 2");
  EXPECT_EQ(QuickDecision(process, "child"),
            (Counts{{"UpdateItem", 2}, {"peak", 2}, {"turns", 1}}));
}

// Reads each entity of the chain with its limits, then the buckets, and writes them. Each response
// is delayed, so requests that are sent together are at the proxy together.
TEST_F(Requests, FirstContactIsThreeRoundTripsAndOneMoreForEachAncestor) {
  const auto turns_of = [&](const char* entity) {
    Process process(url_);
    Tell("mode delay 300");
    EXPECT_TRUE(process.Ask(entity, "plenty"));
    Tell("mode pass");
    return TakeCounts()["turns"];
  };
  EXPECT_LE(turns_of("new"), 3) << "a bucket that does not exist";
  EXPECT_LE(turns_of("new"), 3) << "one that does";
  EXPECT_LE(turns_of("child"), 4);
}

}  // namespace
}  // namespace weir
