#include "tests/simulation/job_clients.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/codec/iso_time.h"
#include "weir/rate_limiter_py/slots/slot_item.h"

namespace weir::simulation {
namespace {

// Slots do not expire within the run, so that no leak is hidden.
constexpr milliseconds kJobTtl = std::chrono::hours(2);
constexpr std::int64_t kMaxJobSlots = 1'000;
constexpr std::chrono::seconds kJobPatience{3};
constexpr std::chrono::seconds kBeforeNextTry{1};
constexpr int kMaxClaimTries = 5;
constexpr int kMaxBindTries = 60;

// Returns whether the binding has succeeded or was refused for good: the slot is gone, or its job
// has ended.
bool IsSettled(const Result<HeldSlot>& bound) {
  return bound || bound.error().code == Code::kFailedPrecondition ||
         bound.error().code == Code::kNotFound;
}

std::string EventText(const std::string& job, UnixMillis at, std::size_t number) {
  const std::int64_t second = at.value / 1000 % 3600;
  return fmt::format(
      R"({{"source":"jobs","time":"2026-01-01T00:{:02}:{:02}Z","detail":{{"id":"{}","number":{}}}}})",
      second / 60, second % 60, job, number);
}

dynamo::Item ForeignRow(const AccountKey& key, const std::string& id, const std::string& job,
                        UnixMillis expires) {
  using namespace rate_limiter_py;
  dynamo::Item row = SlotItem({.key = key, .id = id, .resource_id = job, .expires = expires});
  row.erase(std::string(kClaimed));
  return row;
}

}  // namespace

JobClients::JobClients(const EventWorld& world, const dynamo::TableLayout& layout,
                       SlotHistory& history, std::uint64_t seed)
    : world_(world),
      history_(history),
      rng_(seed),
      process_(world.scheduler, world.server, rng_.Next() | 1, milliseconds(0)),
      table_(process_.client(), world.scheduler, world.names.slots, rng_.Next(), layout),
      store_(table_, world.scheduler.clock(), world.names.resource_index),
      direct_(world.server),
      foreign_table_(direct_, world.scheduler, world.names.slots, rng_.Next(), layout) {}

void JobClients::Begin(const EventScenario& scenario, Instant end) {
  end_ = end;
  for (int i = 0; i < scenario.jobs; ++i) BeginJob(i);
  const nanoseconds run = end - world_.scheduler.clock().Now();
  for (int i = 0; i < scenario.foreign; ++i) {
    BeginForeign(i, nanoseconds(rng_.Between(0, run.count())));
  }
}

// Some slots of a job are bound late, even after the job has ended.
void JobClients::BeginJob(int number) {
  if (In({}) >= end_) return;
  const std::string job = fmt::format("job-{}", number);
  const milliseconds life = Between(500, 12'000);
  for (int slots = rng_.Chance(0.5) ? 2 : 1; slots > 0; --slots) {
    const milliseconds wait =
        rng_.Chance(0.3) ? Between(0, life.count() + 20'000) : milliseconds(0);
    Claim(job, wait, kMaxClaimTries);
  }
  world_.scheduler.At(In(life), [this, job] { End(job); });
  world_.scheduler.At(In(life + Between(2'000, 8'000)), [this, number] { BeginJob(number); });
}

void JobClients::End(const std::string& job) {
  history_.ended.insert(job);
  ends_.push_back({job, Wall(), EventText(job, Wall(), ends_.size())});
  world_.queue.Send(ends_.back().event);
}

void JobClients::Claim(const std::string& job, milliseconds wait, int tries) {
  const SlotClaim claim{.slot = {{kJobs, "acme"}, NewSlotId(rng_.Next(), rng_.Next())},
                        .limit = kMaxJobSlots,
                        .ttl = kJobTtl};
  history_.limits[claim.slot.id] = claim.limit;
  store_.Claim(claim, Wall(), Deadline::After(world_.scheduler.clock(), kJobPatience),
               [this, slot = claim.slot, job, wait, tries](const Result<ClaimResult>& result) {
                 if (!result && tries > 1) return Claim(job, wait, tries - 1);
                 if (!result || !result->slot) return;
                 world_.scheduler.At(In(wait), [=, this] { Bind(slot, job, kMaxBindTries); });
               });
}

void JobClients::Bind(const SlotRef& slot, const std::string& job, int tries) {
  store_.Bind(slot, job, kJobTtl, Wall(), Deadline::After(world_.scheduler.clock(), kJobPatience),
              [=, this](const Result<HeldSlot>& bound) {
                if (IsSettled(bound) || tries == 0) return;
                world_.scheduler.At(In(kBeforeNextTry), [=, this] { Bind(slot, job, tries - 1); });
              });
}

// rate-limiter-py's client does not know of ends: half of the bindings follow the end.
void JobClients::BeginForeign(int number, nanoseconds until_end) {
  const std::string job = fmt::format("foreign-{}", number);
  const std::string id = NewSlotId(rng_.Next(), rng_.Next()).substr(2);
  const auto latest = std::chrono::duration_cast<milliseconds>(kLatestForeignBinding);
  const milliseconds after_end = rng_.Chance(0.5) ? Between(0, latest.count()) : Between(-5'000, 0);
  world_.scheduler.At(In(until_end), [this, job] { End(job); });
  world_.scheduler.At(In(std::max(until_end + after_end, nanoseconds(0))),
                      [this, id, job] { BindForeign(id, job); });
}

void JobClients::BindForeign(const std::string& id, const std::string& job) {
  const dynamo::Write put{.kind = dynamo::Write::Kind::kPut,
                          .key = {},
                          .item = ForeignRow({kJobs, "theirs"}, id, job, Wall() + kJobTtl),
                          .expression = {}};
  foreign_table_.Apply(put, false, Deadline::Never(), [=, this](const auto& result) {
    if (result) return;
    world_.scheduler.At(In(kBeforeNextTry), [=, this] { BindForeign(id, job); });
  });
}

}  // namespace weir::simulation
