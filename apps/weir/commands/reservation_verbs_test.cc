#include "apps/weir/commands/reservation_verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/weir/testing/verb_run_fixture.h"
#include "weir/base/testing/temp_folder_fixture.h"
#include "weir/reservation/testing/probe_reservations.h"
#include "weir/runtime/await.h"
#include "weir/runtime/loop.h"
#include "weir/sim/immediate_scheduler.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/memory/memory_reservations.h"

namespace weir::app {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

/// A command that runs for this time by the test's clock, and ends when it is asked to.
struct Script {
  nanoseconds lasts{0};
  int code = 0;
  std::function<void(const Variables&)> at_start = [](const Variables&) {};
  std::function<void()> at_termination = [] {};
};

class FakeChild final : public Child {
 public:
  FakeChild(const Script& script, sim::SimClock& clock, int& terminations)
      : script_(script), clock_(clock), end_(clock.Now() + script.lasts), told_(terminations) {}
  std::optional<int> Wait(nanoseconds most) override {
    if (told_ > 0) return script_.code;
    if (std::exchange(*is_woken_, false)) return std::nullopt;
    clock_.Advance(std::max(nanoseconds(0), std::min(most, end_ - clock_.Now())));
    return clock_.Now() >= end_ ? std::optional(script_.code) : std::nullopt;
  }
  void Terminate() override {
    ++told_;
    script_.at_termination();
  }
  std::function<void()> Waker() override {
    return [woken = is_woken_] { *woken = true; };
  }

 private:
  const Script script_;
  const std::shared_ptr<bool> is_woken_ = std::make_shared<bool>(false);
  sim::SimClock& clock_;
  const Instant end_;
  int& told_;
};

class ReservationVerbsTest : public testing::Test {
 protected:
  /// Runs `weir ...` and returns its output on stdout.
  std::string Run(std::vector<std::string> args) {
    out_.str("");
    const WithReservations with = [this](Context&, const ReservationsWork& work) {
      return work({*backend_, *scheduler_});
    };
    const VerbEnd end = RunVerb(process_, std::move(args), [&](CLI::App& app, Action& chosen) {
      AddLimits(app, chosen, with);
      AddReserve(app, chosen, with);
      AddReservation(app, chosen, with);
      AddTokens(app, chosen, with);
    });
    exit_ = end.exit;
    error_ = end.error;
    return out_.str() + end.result;
  }
  json RunJson(std::vector<std::string> args) {
    args.emplace_back("--json");
    return json::parse(Run(std::move(args)));
  }
  /// Replaces the store by one that a test can manipulate.
  ProbeReservations& UseProbe() {
    auto probe = std::make_unique<ProbeReservations>();
    ProbeReservations& used = *probe;
    backend_ = std::move(probe);
    return used;
  }
  /// Returns the slots of emr for acme.
  json Slots() { return RunJson({"reservation", "list", "emr", "acme"})["slots"]; }
  std::string Reserved(const std::string& limit = "1") {
    return RunJson({"reserve", "emr", "acme", "--limit", limit})["id"];
  }
  int Code() const { return static_cast<int>(exit_); }
  nanoseconds Elapsed() const { return clock_.Now() - begin_; }

  sim::SimScheduler sim_;
  sim::SimClock& clock_ = sim_.sim_clock();
  const Instant begin_ = clock_.Now();
  /// Its timers use a clock that does not move between commands; nothing here waits for one.
  Loop loop_{clock_};
  sim::ImmediateScheduler hasty_{clock_};
  Scheduler* scheduler_ = &loop_;
  std::unique_ptr<ReservationBackend> backend_ = MakeMemoryReservations();
  std::istringstream in_;
  std::ostringstream out_, err_;
  Script script_;
  int terminations_ = 0;
  std::vector<std::string> started_;
  ProcessContext process_{
      .clock = clock_,
      .scheduler = loop_,
      .in = in_,
      .out = out_,
      .err = err_,
      .environment = [](const std::string&) { return std::nullopt; },
      .interrupted = [] { return false; },
      .start_child = [this](const std::vector<std::string>& command,
                            const Variables& variables) -> Result<std::unique_ptr<Child>> {
        started_ = command;
        script_.at_start(variables);
        return std::make_unique<FakeChild>(script_, clock_, terminations_);
      }};
  Exit exit_ = Exit::kDone;
  std::string error_;
};

TEST_F(ReservationVerbsTest, ASlotIsHeldUntilItsTimeIsOver) {
  const std::string id = Reserved();
  EXPECT_EQ(exit_, Exit::kDone);
  EXPECT_THAT(id, testing::StartsWith("w-"));
  const json slots = Slots();
  ASSERT_EQ(slots.size(), 1U);
  EXPECT_EQ(slots[0]["id"], id);
  EXPECT_TRUE(slots[0]["bound_to"].is_null());
  EXPECT_EQ(RunJson({"reserve", "emr", "acme", "--limit", "1"}),
            json::parse(R"({"reserved": false, "limit": 1, "in_use": 1, "blocked": false,
                            "retry_after_ms": 5000})"));
  EXPECT_EQ(exit_, Exit::kRefused);
  clock_.Advance(std::chrono::seconds(300));
  EXPECT_EQ(Slots().size(), 0U);
  Reserved();
  EXPECT_EQ(exit_, Exit::kDone);
}

TEST_F(ReservationVerbsTest, ACommandRunsWhileItIsHeld) {
  script_ = {.lasts = std::chrono::hours(2), .code = 7, .at_start = [&](const Variables& told) {
               const json slots = Slots();
               ASSERT_EQ(slots.size(), 1U);
               EXPECT_THAT(told, ElementsAre(testing::Pair("WEIR_RESERVATION_ID", slots[0]["id"]),
                                             testing::Pair("WEIR_RESOURCE", "emr"),
                                             testing::Pair("WEIR_ACCOUNT", "acme")));
             }};
  EXPECT_EQ(Run({"reserve", "emr", "acme", "--limit", "1", "--", "make", "-k", "--json"}), "");
  EXPECT_THAT(started_, ElementsAre("make", "-k", "--json"));
  EXPECT_EQ(Code(), 7) << "its own exit code";
  EXPECT_EQ(terminations_, 0) << "renewed for two hours";
  EXPECT_EQ(Slots().size(), 0U);
}

TEST_F(ReservationVerbsTest, ACommandWhoseSlotHasExpiredIsAskedToEnd) {
  scheduler_ = &hasty_;
  ProbeReservations& store = UseProbe();
  script_ = {.lasts = std::chrono::hours(2),
             .code = 0,
             .at_start = [&](const Variables&) { store.fail = Error{Code::kUnavailable, "away"}; },
             .at_termination = [&] { EXPECT_EQ(Elapsed(), std::chrono::seconds(300)); }};
  Run({"reserve", "emr", "acme", "--limit", "1", "--", "make"});
  EXPECT_EQ(terminations_, 1);
  EXPECT_EQ(exit_, Exit::kFailed) << "although it ended well";
  EXPECT_THAT(error_, HasSubstr("the slot has expired (away)"));
}

// R12. Fails if: the loss is noticed only when the renewal completes.
TEST_F(ReservationVerbsTest, R12ASilentStoreDoesNotDelayTheEnd) {
  ProbeReservations& store = UseProbe();
  script_ = {.lasts = std::chrono::hours(2),
             .code = 0,
             .at_start = [&](const Variables&) { store.hold = true; },
             .at_termination =
                 [&] {
                   EXPECT_EQ(Elapsed(), std::chrono::seconds(300));
                   store.hold = false;
                   store.ReleaseHeldResults();
                 }};
  Run({"reserve", "emr", "acme", "--limit", "1", "--", "make"});
  EXPECT_EQ(terminations_, 1);
  EXPECT_EQ(exit_, Exit::kFailed);
}

// R2. Fails if: the command is terminated when the resource of its slot ends, whether a renewal has
// seen the binding before or not.
TEST_F(ReservationVerbsTest, R2ACommandOutlivesTheEndOfItsBoundThing) {
  ProbeReservations& store = UseProbe();
  store.clock = &clock_;
  const auto end_of = [&](const std::string& thing) {
    const UnixMillis now = backend_->Now(clock_);
    store.inner().slots().ReleaseResource({.resource_id = thing, .ended_at = now}, now,
                                          Deadline::Never(),
                                          [](const auto& n) { EXPECT_EQ(n, 1U); });
  };
  for (const bool is_seen : {false, true}) {
    terminations_ = 0;
    const std::string thing = is_seen ? "j-1" : "j-2";
    script_ = {.lasts = std::chrono::hours(2), .code = 5, .at_start = [&](const Variables& told) {
                 Run({"reservation", "bind", "emr", "acme", told[0].second, thing});
                 if (!is_seen) return end_of(thing);
                 store.before_renewal = [&, first = true]() mutable {
                   if (!std::exchange(first, false)) ADD_FAILURE() << "renewed although bound";
                 };
               }};
    Run({"reserve", "emr", "acme", "--limit", "1", "--", "make"});
    EXPECT_EQ(terminations_, 0);
    EXPECT_EQ(Code(), 5);
    EXPECT_EQ(error_, "");
    EXPECT_EQ(Slots().size(), is_seen ? 1U : 0U);
  }
}

TEST_F(ReservationVerbsTest, ACommandWhoseSlotIsReleasedByHandGoesOn) {
  script_ = {.lasts = std::chrono::hours(2), .code = 0, .at_start = [&](const Variables&) {
               Run({"reservation", "release", "emr", "acme", Slots()[0]["id"]});
             }};
  Run({"reserve", "emr", "acme", "--limit", "1", "--", "make"});
  EXPECT_EQ(terminations_, 0);
  EXPECT_EQ(exit_, Exit::kDone);
}

// Fails if: a text that no store accepts is found only by the store.
TEST_F(ReservationVerbsTest, BadTextsAreUsageErrors) {
  ProbeReservations& store = UseProbe();
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"reserve", "a\nb", "acme", "--limit", "1"},
           {"reserve", "emr", "a\nb", "--limit", "1"},
           {"reserve", "emr", "acme", "--limit", "1", "--bind", "a\nb"},
           {"reservation", "list", "emr", "a\nb"},
           {"reservation", "bind", "emr", "acme", "w-1", "a\nb"},
           {"tokens", "take", "a\nb", "acme", "--limit", "1", "--window", "1s"}}) {
    Run(args);
    EXPECT_EQ(exit_, Exit::kUsage) << args[0];
    EXPECT_THAT(error_, HasSubstr("control character"));
  }
  EXPECT_EQ(store.calls, 0U);
}

// R16. Fails if: a slot may live for milliseconds.
TEST_F(ReservationVerbsTest, R16ALifeOfMillisecondsIsRefused) {
  Run({"reserve", "emr", "acme", "--limit", "1", "--ttl", "2ms", "--", "make"});
  EXPECT_EQ(exit_, Exit::kUsage);
  EXPECT_THAT(error_, HasSubstr("1s or more"));
  EXPECT_TRUE(started_.empty());
}

TEST_F(ReservationVerbsTest, WhatTheCommandBindsOutlivesIt) {
  script_.at_start = [&](const Variables& told) {
    Run({"reservation", "bind", "emr", "acme", told[0].second, "j-1"});
  };
  Run({"reserve", "emr", "acme", "--limit", "1", "--", "start"});
  ASSERT_EQ(Slots().size(), 1U);
  EXPECT_EQ(Slots()[0]["bound_to"], "j-1");
}

// R3. Fails if: a slot is released although the store did not report that it is unbound.
TEST_F(ReservationVerbsTest, R3ABoundSlotStaysIfTheStoreIsBusyAtTheEnd) {
  scheduler_ = &hasty_;
  ProbeReservations& store = UseProbe();
  script_.at_start = [&](const Variables& told) {
    Run({"reservation", "bind", "emr", "acme", told[0].second, "j-1"});
    store.fail = Error{Code::kUnavailable, "throttled"};
    store.only = store.calls;
  };
  Run({"reserve", "emr", "acme", "--limit", "1", "--", "start"});
  EXPECT_EQ(exit_, Exit::kDone);
  ASSERT_EQ(Slots().size(), 1U);
  EXPECT_EQ(Slots()[0]["bound_to"], "j-1");
}

// R3. Fails if: a refused release is not retried although there is time.
TEST_F(ReservationVerbsTest, R3AReleaseIsRepeatedWithinItsTime) {
  scheduler_ = &hasty_;
  ProbeReservations& store = UseProbe();
  script_.at_start = [&](const Variables&) {
    store.fail = Error{Code::kUnavailable, "throttled"};
    store.recover_at = clock_.Now() + std::chrono::seconds(2);
    store.clock = &clock_;
  };
  Run({"reserve", "emr", "acme", "--limit", "1", "--", "start"});
  EXPECT_EQ(exit_, Exit::kDone);
  EXPECT_EQ(error_, "");
  EXPECT_EQ(Slots().size(), 0U);
}

TEST_F(ReservationVerbsTest, WhatIsBoundFromTheStartOutlivesTheCommand) {
  Run({"reserve", "emr", "acme", "--limit", "1", "--bind", "j-1", "--", "start"});
  ASSERT_EQ(Slots().size(), 1U);
  EXPECT_EQ(Slots()[0]["bound_to"], "j-1");
}

TEST_F(ReservationVerbsTest, ACommandThatCannotRunGivesItsSlotBack) {
  process_.start_child = [](const auto&, const auto&) -> Result<std::unique_ptr<Child>> {
    return Fail(Code::kNotFound, "cannot run 'mak': No such file or directory");
  };
  Run({"reserve", "emr", "acme", "--limit", "1", "--", "mak"});
  EXPECT_EQ(Code(), 127);
  EXPECT_EQ(Slots().size(), 0U);
}

TEST_F(ReservationVerbsTest, ARefusedCommandDoesNotRun) {
  Reserved();
  EXPECT_EQ(Run({"reserve", "emr", "acme", "--limit", "1", "--", "make"}), "");
  EXPECT_EQ(exit_, Exit::kRefused);
  EXPECT_TRUE(started_.empty());
  EXPECT_EQ(error_, "emr for acme: refused: 1 of 1 in use");
}

TEST_F(ReservationVerbsTest, WithoutALimitNothingIsReserved) {
  EXPECT_THAT(Run({"reserve", "emr", "acme"}), HasSubstr("; --slots N sets a limit"));
  EXPECT_EQ(exit_, Exit::kRefused);
  EXPECT_EQ(Run({"tokens", "take", "api", "acme"}), "refused: blocked\n");
  EXPECT_THAT(error_, HasSubstr("give --tokens N --window DURATION"));
}

TEST_F(ReservationVerbsTest, ASlotIsNamedByItsIdOrByWhatItIsBoundTo) {
  const std::string first = Reserved("2");
  const std::string second = Reserved("2");
  Run({"reservation", "bind", "emr", "acme", first, "j-1", "--ttl", "1h"});
  EXPECT_THAT(Run({"reservation", "list", "emr", "acme"}), HasSubstr("j-1"));
  EXPECT_EQ(Run({"reservation", "release", "emr", "acme", "j-1"}), "released " + first + "\n");
  EXPECT_EQ(Run({"reservation", "release", "emr", "acme", second}), "released " + second + "\n");
  EXPECT_EQ(Run({"reservation", "list", "emr", "acme"}), "no slot is held\n");
  Run({"reservation", "release", "emr", "acme", "j-1"});
  EXPECT_EQ(exit_, Exit::kFailed);
  EXPECT_THAT(error_, HasSubstr("no slot 'j-1' is held"));
}

// Fails if: one of the slots that are bound to the resource stays held, or one that is bound to
// another is released.
TEST_F(ReservationVerbsTest, AReleaseByResourceFreesAllItsSlots) {
  const std::vector<std::string> ids{Reserved("3"), Reserved("3"), Reserved("3")};
  Run({"reservation", "bind", "emr", "acme", ids[0], "j-1"});
  Run({"reservation", "bind", "emr", "acme", ids[1], "j-2"});
  Run({"reservation", "bind", "emr", "acme", ids[2], "j-1"});
  const json released = RunJson({"reservation", "release", "emr", "acme", "j-1"});
  EXPECT_THAT(released["slots"], testing::UnorderedElementsAre(ids[0], ids[2]));
  const json held = Slots();
  ASSERT_EQ(held.size(), 1U);
  EXPECT_EQ(held[0]["id"], ids[1]);
}

// Fails if: one of several slots that are bound to the resource is chosen without a message.
TEST_F(ReservationVerbsTest, ABindByResourceNeedsTheIdIfSeveralSlotsAreBoundToIt) {
  const std::vector<std::string> ids{Reserved("2"), Reserved("2")};
  Run({"reservation", "bind", "emr", "acme", ids[0], "j-1", "--ttl", "1h"});
  Run({"reservation", "bind", "emr", "acme", "j-1", "j-1", "--ttl", "2h"});
  EXPECT_EQ(exit_, Exit::kDone) << "the only one: " << error_;
  Run({"reservation", "bind", "emr", "acme", ids[1], "j-1", "--ttl", "1h"});
  const json before = Slots();
  Run({"reservation", "bind", "emr", "acme", "j-1", "j-1", "--ttl", "3h"});
  EXPECT_EQ(exit_, Exit::kFailed);
  EXPECT_EQ(error_,
            "emr for acme: 2 slots are bound to 'j-1': give the ID of one of them; see 'weir "
            "reservation list'");
  EXPECT_EQ(Slots(), before);
}

// Fails if: a failure conceals the slots that were released before it.
TEST_F(ReservationVerbsTest, AReleaseThatFailsInTheMiddleSaysHowManyAreReleased) {
  ProbeReservations& store = UseProbe();
  for (int i = 0; i < 2; ++i) {
    Run({"reserve", "emr", "acme", "--limit", "2", "--bind", "j-1", "--", "start"});
  }
  store.fail = Error{Code::kUnavailable, "away"};
  store.only = store.calls + 1;
  Run({"reservation", "release", "emr", "acme", "j-1"});
  EXPECT_EQ(exit_, Exit::kFailed);
  EXPECT_EQ(error_, "away; 1 of 2 slots were released");
}

class RulesFile {
 public:
  explicit RulesFile(const std::string& text) { std::ofstream(path()) << text; }
  std::string path() const { return folder_ / "rules.yaml"; }

 private:
  TempFolder folder_;
};

TEST_F(ReservationVerbsTest, EventsFreeSlots) {
  const RulesFile rules("rules:\n  - source: aws.emr\n    id: detail.clusterId\n");
  Run({"reservation", "bind", "emr", "acme", Reserved(), "j-1"});
  scheduler_ = &hasty_;
  in_.str(R"({"source": "aws.emr", "detail": {"clusterId": "j-1"}})"
          "\nnonsense\n\n"
          R"({"source": "other"})");
  const json told = RunJson({"reservation", "events", "--rules", rules.path(), "--metrics"});
  EXPECT_EQ(told["slots"], 1);
  EXPECT_THAT(told["metrics"].get<std::string>(),
              HasSubstr("weir_events_slots_released_total 1\n"));
  EXPECT_EQ(told["bad"], 1);
  EXPECT_EQ(exit_, Exit::kFailed) << "a line was no event";
  EXPECT_THAT(error_, HasSubstr("line 2"));
  EXPECT_EQ(Slots().size(), 0U);
}

// R8. Fails if: the command ends without a message while a slot that is bound late should be
// released.
TEST_F(ReservationVerbsTest, R8WhatIsReadIsLookedForAgainUntilAnInterrupt) {
  const RulesFile rules("rules:\n  - source: aws.emr\n    id: detail.clusterId\n");
  scheduler_ = &hasty_;
  in_.str(R"({"source": "aws.emr", "detail": {"clusterId": "j-1"}})");
  Run({"reservation", "events", "--rules", rules.path()});
  EXPECT_EQ(exit_, Exit::kDone) << error_;
  EXPECT_GT(Elapsed(), std::chrono::seconds(150));
  scheduler_ = &loop_;
  process_.interrupted = [] { return true; };
  in_.clear();
  in_.str(R"({"source": "aws.emr", "detail": {"clusterId": "j-2"}})");
  Run({"reservation", "events", "--rules", rules.path()});
  EXPECT_EQ(exit_, Exit::kFailed);
  EXPECT_THAT(error_, HasSubstr("interrupted")) << err_.str();
}

// Fails if: the end of the reading counts as an event that was not dealt with.
TEST_F(ReservationVerbsTest, AnInterruptAndABrokenInputAreNoEvents) {
  const RulesFile rules("rules:\n  - source: aws.emr\n    id: detail.clusterId\n");
  const std::vector<std::string> read{"reservation", "events", "--rules", rules.path()};
  in_.setstate(std::ios::badbit);
  Run(read);
  EXPECT_EQ(exit_, Exit::kFailed);
  EXPECT_EQ(error_, "standard input cannot be read");
  in_.clear();
  process_.interrupted = [] { return true; };
  Run(read);
  EXPECT_EQ(exit_, Exit::kFailed);
  EXPECT_EQ(error_, "interrupted: lines may be left unread");
  process_.interrupted = [calls = 0]() mutable { return ++calls > 1; };
  in_.clear();
  in_.str("nonsense\n{}\n");
  Run(read);
  EXPECT_EQ(exit_, Exit::kFailed);
  EXPECT_THAT(error_,
              testing::StartsWith("interrupted: lines may be left unread; 1 events were not "
                                  "dealt with, the first: line 1: "));
}

TEST_F(ReservationVerbsTest, RulesThatAreNoneAreAFailure) {
  const RulesFile rules("rules:\n  - sauce: aws.emr\n");
  Run({"reservation", "events", "--rules", rules.path()});
  EXPECT_EQ(exit_, Exit::kFailed);
  EXPECT_THAT(error_, HasSubstr("rules.yaml:2"));
}

TEST_F(ReservationVerbsTest, TokensComeBackWithTime) {
  const std::vector<std::string> take{"tokens",  "take", "api",      "acme",
                                      "--limit", "2",    "--window", "10s"};
  EXPECT_EQ(Run(take), "taken, 1 left\n");
  EXPECT_EQ(Run(take), "taken, 0 left\n");
  EXPECT_EQ(Run(take), "refused, 0 left, retry after 5s\n");
  EXPECT_EQ(exit_, Exit::kRefused);
  clock_.Advance(std::chrono::seconds(5));
  EXPECT_EQ(Run(take), "taken, 0 left\n");
}

TEST_F(ReservationVerbsTest, TokensAreAwaitedIfTheyComeInTime) {
  scheduler_ = &hasty_;
  std::vector<std::string> take{"tokens",   "take", "api",     "acme", "--tokens", "2",
                                "--window", "10s",  "--count", "2",    "--wait",   "9s"};
  EXPECT_EQ(Run(take), "taken, 0 left\n");
  const Instant before = clock_.Now();
  EXPECT_EQ(Run(take), "refused, 0 left, retry after 10s\n");
  EXPECT_EQ(exit_, Exit::kRefused);
  EXPECT_EQ(clock_.Now(), before) << "a wait that is known to be longer is refused at once";
  take.back() = "10s";
  EXPECT_EQ(Run(take), "taken, 0 left\n");
  EXPECT_EQ(clock_.Now() - before, std::chrono::seconds(10));
}

/// Another client that takes a token whenever time passes.
class Rival final : public Scheduler {
 public:
  Rival(Scheduler& inner, std::function<void()> take) : inner_(inner), take_(std::move(take)) {}
  const Clock& clock() const override { return inner_.clock(); }
  void Post(Task task) override { inner_.Post(std::move(task)); }
  TimerId At(Instant when, Task task) override {
    return inner_.At(when, [this, task = std::move(task)]() mutable {
      take_();
      task();
    });
  }
  bool Cancel(TimerId id) override { return inner_.Cancel(id); }

 private:
  Scheduler& inner_;
  std::function<void()> take_;
};

TEST_F(ReservationVerbsTest, AWaitEndsAlsoIfOthersTakeTheTokens) {
  const std::vector<std::string> take{"tokens",   "take", "api",      "acme",
                                      "--tokens", "1",    "--window", "2s"};
  const auto take_one = [&] { Run(take); };
  Rival rival(hasty_, [&] {
    scheduler_ = &hasty_;
    take_one();
  });
  EXPECT_EQ(Run(take), "taken, 0 left\n");
  const Instant before = clock_.Now();
  std::vector<std::string> wait = take;
  wait.insert(wait.end(), {"--wait", "7s"});
  scheduler_ = &rival;
  EXPECT_EQ(Run(wait), "refused, 0 left, retry after 2s\n");
  EXPECT_EQ(clock_.Now() - before, std::chrono::seconds(6));
}

TEST_F(ReservationVerbsTest, LoadedLimitsHold) {
  const TempFolder folder;
  const std::string path = folder / "limits.json";
  std::ofstream(path)
      << R"({"limits": [{"accountId": "acme", "resourceName": "emr", "limit": 2}]})";
  EXPECT_EQ(Run({"limits", "load", "--service", "jobs", "--plan", path}),
            "+ create emr for acme: 2\ncreate 1, update 0, delete 0, leave 0, unchanged 0\n");
  Run({"reserve", "emr", "acme"});
  EXPECT_EQ(exit_, Exit::kRefused) << "only planned";
  Run({"limits", "load", "--service", "jobs", path});
  Reserved("9");
  Reserved("9");
  Run({"reserve", "emr", "acme", "--limit", "9"});
  EXPECT_EQ(exit_, Exit::kRefused) << "the row counts, not --limit";
}

}  // namespace
}  // namespace weir::app
