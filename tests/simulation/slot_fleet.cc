#include "tests/simulation/slot_fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tests/simulation/slot_events.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::simulation {
namespace {

constexpr char kSlotsTable[] = "slots";
constexpr std::chrono::seconds kPatience{3};
constexpr int kMaxTries = 3;

const rate_limiter_py::TableNames& Names() {
  static const rate_limiter_py::TableNames names{"tokens", "limits", kSlotsTable, "resource-index",
                                                 "service-index"};
  return names;
}

rate_limiter_py::TableLayouts LayoutsWithStream() {
  rate_limiter_py::TableLayouts layouts = LayoutsOf(Names());
  layouts.slots.stream = "NEW_AND_OLD_IMAGES";
  return layouts;
}

}  // namespace

struct SlotFleet::Held {
  SlotRef slot;
};

struct SlotFleet::Process {
  Process(SlotFleet& fleet, std::uint64_t seed, milliseconds skew)
      : world(fleet.scheduler_, fleet.server_, seed, skew),
        table(world.client(), fleet.scheduler_, kSlotsTable, seed + 2, fleet.layouts_.slots),
        store(table, fleet.scheduler_.clock(), Names().resource_index, {}) {}

  dynamo::SimProcess world;
  dynamo::Table table;
  rate_limiter_py::SlotStore store;
  std::vector<Held> held;
  std::vector<SlotRef> past;  // slots that it held before
};

SlotFleet::SlotFleet(const Scenario& scenario, std::uint64_t seed, EventBug bug)
    : rng_(seed),
      scenario_(scenario),
      scheduler_(rng_.Next()),
      server_(scheduler_.clock(), rng_.Next()),
      layouts_(LayoutsWithStream()),
      end_(scheduler_.clock().Now() + scenario.run) {
  dynamo::CreateTableIn(server_, kSlotsTable, layouts_.slots);
  server_.faults = scenario.table;
  for (int i = 0; i < scenario.processes; ++i) {
    Process& process = Join(i == 0 ? scenario.skew : milliseconds(0));
    process.world.network().faults = scenario.network;
    Act(process);
  }
  if (scenario.events.jobs == 0) return;
  events_ = std::make_unique<SlotEvents>(
      SlotEvents::EventsWorld{scheduler_, server_, Names(), layouts_.slots, history_}, scenario,
      rng_.Next(), bug);
}

SlotFleet::~SlotFleet() = default;

SlotFleet::Process& SlotFleet::Join(milliseconds skew) {
  processes_.push_back(std::make_unique<Process>(*this, rng_.Next() | 1, skew));
  return *processes_.back();
}

bool SlotFleet::Run() {
  if (events_) events_->Run();
  return scheduler_.RunAll();
}

const sim::DynamoTable& SlotFleet::table() const { return *server_.Table(kSlotsTable); }

sim::NetworkCounts SlotFleet::CountFaults() const {
  sim::NetworkCounts counts;
  for (const auto& process : processes_) counts += process->world.network().counts();
  if (events_) counts += events_->CountFaults();
  return counts;
}

Deadline SlotFleet::Patience() const { return Deadline::After(scheduler_.clock(), kPatience); }

// The second key has the same coordinate as a third key that is not used.
AccountKey SlotFleet::AnyKey() {
  return rng_.Chance(0.5) ? AccountKey{"emr", "acme"} : AccountKey{"emr:a", "b"};
}

// The limit changes continuously.
std::int64_t SlotFleet::LimitNow() { return rng_.Between(2, kMaxSlots); }

template <class T>
Done<T> SlotFleet::CountingResult() {
  ++history_.asked;
  return [this](const Result<T>&) { ++history_.completed; };
}

void SlotFleet::Act(Process& process) {
  if (scheduler_.clock().Now() >= end_) return;
  ActOnce(process);
  scheduler_.At(scheduler_.clock().Now() + milliseconds(rng_.Between(1, 400)),
                [this, &process] { Act(process); });
}

void SlotFleet::ActOnce(Process& process) {
  const double dice = rng_.Unit();
  if (dice < 0.45) return Claim(process);
  if (dice < 0.55) return Bind(process);
  if (dice < 0.65) return Renew(process);
  if (dice < 0.72) return End(process);
  if (dice < 0.76) {  // it dies; another process replaces it and has no slots
    ++history_.crashes;
    return process.held.clear();
  }
  auto& list = dice < 0.82 ? process.past : std::as_const(process).past;
  if (dice < 0.82) {
    if (!list.empty()) Release(process, list[rng_.Below(list.size())]);
    return;
  }
  if (process.held.empty()) return;
  const SlotRef slot = process.held.back().slot;
  process.held.pop_back();
  Release(process, slot);
}

void SlotFleet::Claim(Process& process) {
  constexpr milliseconds kTtls[] = {milliseconds(1'500), milliseconds(5'000), kLongestTtl};
  const SlotClaim claim{.slot = {AnyKey(), NewSlotId(rng_.Next(), rng_.Next())},
                        .limit = LimitNow(),
                        .ttl = kTtls[rng_.Below(3)]};
  history_.limits[claim.slot.id] = claim.limit;
  Send(process, claim, 1);
}

void SlotFleet::Send(Process& process, const SlotClaim& claim, int tries) {
  ++history_.asked;
  process.store.Claim(
      claim, process.world.now(), Patience(),
      [this, &process, claim, tries, asked = now()](const Result<ClaimResult>& result) {
        ++history_.completed;
        Claimed(process, claim, result, asked);
        if (result) return;
        // The slot may be held: claims it again or releases it.
        if (rng_.Chance(0.5)) return Release(process, claim.slot);
        if (tries < kMaxTries) Send(process, claim, tries + 1);
      });
}

void SlotFleet::Claimed(Process& process, const SlotClaim& claim, const Result<ClaimResult>& result,
                        UnixMillis asked) {
  if (!result) return;
  if (!result->slot) {
    return history_.refusals.push_back({claim.slot.key, claim.limit, asked, now()});
  }
  ++history_.admitted;
  process.held.push_back({claim.slot});
  process.past.push_back(claim.slot);
}

void SlotFleet::Bind(Process& process) {
  if (process.held.empty()) return;
  const SlotRef& slot = process.held[rng_.Below(process.held.size())].slot;
  process.store.Bind(slot, fmt::format("j-{}", rng_.Below(20)), milliseconds(5'000),
                     process.world.now(), Patience(), CountingResult<HeldSlot>());
}

void SlotFleet::Renew(Process& process) {
  if (process.held.empty()) return;
  const SlotRef& slot = process.held[rng_.Below(process.held.size())].slot;
  process.store.Renew(slot, milliseconds(3'000), process.world.now(), Patience(),
                      CountingResult<HeldSlot>());
}

void SlotFleet::Release(Process& process, const SlotRef& slot) {
  history_.released.insert(slot.id);
  process.store.Release(slot, process.world.now(), Patience(), CountingResult<bool>());
}

// Sometimes reported twice, and also for resources that no slot is bound to.
void SlotFleet::End(Process& process) {
  const std::string resource = fmt::format("j-{}", rng_.Below(20));
  history_.ended.insert(resource);
  const UnixMillis at = process.world.now();
  for (int i = rng_.Chance(0.3) ? 2 : 1; i > 0; --i) {
    process.store.ReleaseResource(
        {.resource_id = resource, .ended_at = at, .remember_until = at + milliseconds(10'000)}, at,
        Patience(), CountingResult<std::size_t>());
  }
}

// After all slots have expired, a new process must get exactly kMaxSlots slots of each key.
std::vector<std::string> SlotFleet::Settle() {
  server_.faults = {};
  scheduler_.Advance(2 * kLongestTtl);
  Process& fresh = Join(milliseconds(0));
  std::vector<std::string> broken;
  for (const AccountKey& key : {AccountKey{"emr", "acme"}, AccountKey{"emr:a", "b"}}) {
    std::int64_t taken = 0;
    for (std::int64_t i = 0; i <= kMaxSlots; ++i) {
      const SlotClaim claim{.slot = {key, NewSlotId(rng_.Next(), rng_.Next())},
                            .limit = kMaxSlots,
                            .ttl = kLongestTtl};
      history_.limits[claim.slot.id] = claim.limit;
      fresh.store.Claim(claim, fresh.world.now(), Patience(),
                        [&](const Result<ClaimResult>& result) {
                          if (result && result->slot) ++taken;
                        });
      scheduler_.RunAll();
    }
    if (taken == kMaxSlots) continue;
    broken.push_back(fmt::format("{}: of {} slots {} can be had when all have expired",
                                 Describe(key), kMaxSlots, taken));
  }
  return broken;
}

}  // namespace weir::simulation
