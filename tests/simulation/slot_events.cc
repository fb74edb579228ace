#include "tests/simulation/slot_events.h"

#include <algorithm>
#include <utility>

namespace weir::simulation {
namespace {

constexpr std::chrono::seconds kTick{1};
constexpr std::chrono::seconds kAfterTheRun{150};       // crashes and faults continue
constexpr std::chrono::seconds kAlone{240 + 156 + 60};  // for the last daemon
constexpr std::chrono::seconds kStopping{60};           // the maximum time of a daemon's stop
constexpr double kFaultsBegin = 0.015;                  // per second without faults
constexpr double kFaultsEnd = 0.08;                     // per second with faults
// Five attempts of 3 seconds, their pauses of up to 2 seconds, and the pause of the queue.
constexpr milliseconds kAfterFaults = std::chrono::seconds(40);
// The receive call of a crashed daemon may still take a message.
constexpr milliseconds kAfterCrash = std::chrono::seconds(21);

}  // namespace

SlotEvents::SlotEvents(const EventsWorld& around, const Scenario& scenario, std::uint64_t seed,
                       EventBug bug)
    : scenario_(scenario),
      rng_(seed),
      queue_(around.scheduler, rng_.Next()),
      world_{around.scheduler, around.server, queue_, around.names},
      bug_(bug),
      jobs_(world_, around.layout, around.history, rng_.Next()) {
  queue_.faults = scenario.events.queue;
  SetFaults(false);
}

SlotEvents::~SlotEvents() = default;

void SlotEvents::Run() {
  const Instant begin = world_.scheduler.clock().Now();
  end_ = begin + scenario_.run + kAfterTheRun;
  jobs_.Begin(scenario_.events, begin + scenario_.run);
  StartDaemon();
  Tick();
  world_.scheduler.Advance(scenario_.run + kAfterTheRun + kAlone + kStopping);
  daemon_->Stop([](const auto&) {});
  world_.scheduler.Advance(kStopping);
  daemon_->Crash();
}

void SlotEvents::Tick() {
  const Instant now = world_.scheduler.clock().Now();
  const bool is_over = now >= end_;
  if (faults_on_ ? is_over || rng_.Chance(kFaultsEnd) : !is_over && rng_.Chance(kFaultsBegin)) {
    SetFaults(!faults_on_);
  }
  if (!daemon_ && now >= back_) StartDaemon();
  if (is_over && daemon_ && !stopping_) return;
  if (daemon_ && !stopping_ && rng_.Chance(scenario_.events.crash)) Crash();
  if (daemon_ && !stopping_ && rng_.Chance(scenario_.events.stop)) Stop();
  world_.scheduler.At(now + kTick, [this] { Tick(); });
}

// The delay of the index is not a fault: it is always simulated.
void SlotEvents::SetFaults(bool on) {
  if (on) faults_since_ = Wall();
  if (faults_on_ && !on) troubles_.push_back({faults_since_, Wall() + kAfterFaults});
  faults_on_ = on;
  const sim::NetworkFaults calm{.shortest_trip = scenario_.network.shortest_trip,
                                .longest_trip = scenario_.network.longest_trip};
  jobs_.network().faults = on ? scenario_.network : calm;
  if (daemon_) daemon_->network().faults = jobs_.network().faults;
  world_.server.faults = scenario_.table;
  queue_.faults = scenario_.events.queue;
  if (on) return;
  world_.server.faults = {.longest_index_lag = scenario_.table.longest_index_lag};
  queue_.faults.refuse = queue_.faults.lose_response = 0;
}

void SlotEvents::StartDaemon() {
  if (down_since_ != UnixMillis{}) troubles_.push_back({down_since_, Wall()});
  daemon_ = std::make_unique<EventDaemon>(world_, rng_.Next() | 1, bug_);
  daemon_->network().faults = jobs_.network().faults;
}

void SlotEvents::Crash() {
  ++crashes_;
  down_since_ = Wall();
  troubles_.push_back({Wall(), Wall() + kAfterCrash});
  Retire(milliseconds(rng_.Between(0, 30'000)));
}

void SlotEvents::Stop() {
  ++stops_;
  stopping_ = true;
  down_since_ = Wall();
  daemon_->Stop([this](const auto&) {
    world_.scheduler.Post([this] {
      stopping_ = false;
      Retire(milliseconds(rng_.Between(0, 5'000)));
    });
  });
}

// The object stays alive until the scheduler is idle (EventDaemon::Crash).
void SlotEvents::Retire(milliseconds down) {
  daemon_->Crash();
  dead_.push_back(std::move(daemon_));
  back_ = world_.scheduler.clock().Now() + down;
}

sim::NetworkCounts SlotEvents::CountFaults() const {
  sim::NetworkCounts counts = jobs_.faults_met();
  counts += daemon_->faults_met();
  for (const auto& daemon : dead_) counts += daemon->faults_met();
  return counts;
}

}  // namespace weir::simulation
