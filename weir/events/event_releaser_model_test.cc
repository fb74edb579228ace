// Events and clients act in any order. The slots that are held in the end do not depend on it.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <memory>
#include <numeric>

#include "weir/events/event_releaser.h"
#include "weir/events/testing/event_rules_fixture.h"
#include "weir/events/testing/slots_in_memory_fixture.h"
#include "weir/sim/sim_scheduler.h"

namespace weir {
namespace {

constexpr int kResources = 8;
constexpr std::string_view kTime = "2026-01-01T00:01:00Z";

/// Each resource has a slot. The slots of the first four are Weir's and are claimed before any end;
/// the others are those of a client of rate-limiter-py. The resources with even numbers end.
class World {
 public:
  explicit World(std::uint64_t seed) : scheduler_(seed) {
    releaser_ = std::make_unique<EventReleaser>(ClusterRule(), store_.backend(), scheduler_,
                                                EventReleaserOptions{.seed = seed});
    for (int i = 0; i < kResources / 2; ++i) store_.Claimed(Name("s", i), Wall());
    scheduler_.Advance(std::chrono::minutes(2));
  }

  /// Does these steps in order, with pauses that are short enough for the repeated requests.
  void Run(const std::vector<int>& steps) {
    for (const int step : steps) {
      Do(step);
      scheduler_.Advance(milliseconds(step * 125));
    }
    scheduler_.RunAll();
  }

  static std::vector<int> AllSteps() {
    std::vector<int> steps(2 * kResources);
    std::iota(steps.begin(), steps.end(), 0);
    return steps;
  }
  std::set<std::string> held() { return store_.held(); }
  ReleaseStats stats() const { return releaser_->stats().release; }
  std::size_t results() const { return responses_; }

 private:
  static std::string Name(const char* kind, int i) { return kind + std::to_string(i); }

  UnixMillis Wall() const { return scheduler_.clock().WallNow(); }

  void Do(int step) {
    const int resource = step % kResources;
    const std::string id = Name("j", resource);
    const std::string slot = Name("s", resource);
    if (step < kResources) return End(id, resource);
    if (resource >= kResources / 2) return store_.BoundByOthers(slot, id);
    store_.Bind({{"emr", "acme"}, slot}, id, milliseconds(28'800'000), Wall(), Deadline::Never(),
                [](const auto&) {});
  }
  void End(const std::string& id, int resource) {
    if (resource % 2 == 1) return;
    const auto event = fmt::format(
        R"({{"source":"aws.emr","time":"{}","detail":{{"clusterId":"{}"}}}})", kTime, id);
    const auto count = [this](const Result<bool>& settled) { responses_ += settled ? 1U : 0U; };
    releaser_->Take(event, std::nullopt, {.settled = count, .over = [](const auto&) {}});
  }

  sim::SimScheduler scheduler_;
  SlotsInMemory store_;
  std::size_t responses_ = 0;
  std::unique_ptr<EventReleaser> releaser_;
};

// Fails if: a release is repeated only once.
RC_GTEST_PROP(EventReleaserModel, TheEndIsTheSameForEveryOrderAndRepetition, ()) {
  std::vector<int> steps = World::AllSteps();
  // Only events are repeated: a second binding would be another one.
  const auto again = *rc::gen::container<std::vector<int>>(3, rc::gen::inRange(0, kResources));
  steps.insert(steps.end(), again.begin(), again.end());
  std::vector<int> order = steps;
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[*rc::gen::inRange<std::size_t>(0, i)]);
  }
  World world(*rc::gen::arbitrary<std::uint64_t>());
  world.Run(order);
  RC_ASSERT(world.held() == (std::set<std::string>{"s1", "s3", "s5", "s7"}));
  const ReleaseStats stats = world.stats();
  RC_ASSERT(stats.taken == world.results());
  RC_ASSERT(stats.pending == 0U);
  RC_ASSERT(stats.taken == stats.released + stats.unknown + stats.repeated + stats.given_up +
                               stats.failed + stats.refused);
}

}  // namespace
}  // namespace weir
