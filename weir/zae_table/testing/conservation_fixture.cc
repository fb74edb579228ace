#include "weir/zae_table/testing/conservation_fixture.h"
#include "weir/zae_table/zae_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace weir::dynamo {
namespace {

constexpr std::uint32_t kShardsLookedAt = 32;
constexpr std::int64_t kMaxTokens = 12;
// More than the capacity of one of two shards.
constexpr std::int64_t kSpreadTokens = 52;

AwsFailure ThrottledCall() {
  return {.kind = FailureClass::kThrottle,
          .code = "ThrottlingException",
          .message = "throttled",
          .attempts = 1};
}

AwsFailure PendingCall() {
  return {.kind = FailureClass::kAmbiguous,
          .message = "no answer",
          .attempts = 1,
          .maybe_applied = true};
}

}  // namespace

struct BadClient::Exchange {
  JsonCall call;
  JsonDone done;
  Instant completed;
  bool is_pending = false;
};

nanoseconds BadClient::DrawTrip() {
  const milliseconds longest = rng_.Chance(network_.stray)  ? std::chrono::seconds(8)
                               : rng_.Chance(network_.slow) ? milliseconds(600)
                                                            : milliseconds(60);
  return milliseconds(1) + nanoseconds(rng_.Between(0, nanoseconds(longest).count()));
}

void BadClient::Call(JsonCall call, Deadline deadline, JsonDone done) {
  const bool is_write = call.operation != "BatchGetItem" && call.operation != "GetItem";
  const Instant arrives = scheduler_.clock().Now() + DrawTrip();
  auto exchange =
      std::make_shared<Exchange>(std::move(call), std::move(done), arrives + DrawTrip());
  if (is_write && rng_.Chance(network_.throttled)) {
    ++faults_;
    scheduler_.At(arrives, [exchange] { exchange->done(tl::unexpected(ThrottledCall())); });
    return;
  }
  exchange->is_pending =
      deadline.ExpiredAt(exchange->completed) || (is_write && rng_.Chance(network_.lost));
  if (exchange->is_pending) {
    ++faults_;
    exchange->completed = std::min(exchange->completed, deadline.at());
    scheduler_.At(exchange->completed,
                  [exchange] { exchange->done(tl::unexpected(PendingCall())); });
  }
  scheduler_.At(arrives, [this, exchange] {
    direct_.Call(exchange->call, Deadline::Never(), [this, exchange](auto reply) {
      if (exchange->is_pending) return;
      scheduler_.At(exchange->completed, [exchange, reply = std::move(reply)]() mutable {
        exchange->done(std::move(reply));
      });
    });
  });
}

ConservationTally& operator+=(ConservationTally& sum, const ConservationTally& other) {
  sum.asked += other.asked;
  sum.completed += other.completed;
  sum.admitted += other.admitted;
  sum.refused += other.refused;
  sum.contended += other.contended;
  sum.failed += other.failed;
  sum.kept += other.kept;
  sum.flagged += other.flagged;
  sum.late += other.late;
  sum.faults += other.faults;
  sum.forfeits += other.forfeits;
  return sum;
}

ConservedFleet::Process::Process(ZaeSimTable& shared, std::uint64_t seed, const BadNetwork& network)
    : client(shared.server, shared.scheduler, seed, network),
      table(client, shared.scheduler, shared.table.name(), seed, ZaeLayout()),
      store(table, kShardKeys, shared.scheduler, {.seed = seed}) {}

ConservedFleet::ConservedFleet(std::uint64_t seed, const ConservationTerms& terms)
    : seed_(seed), terms_(terms), rng_(seed), table_(false, seed) {
  const auto put = [&](const std::string& entity, std::uint32_t shard, std::uint32_t shards) {
    Item item = ShardItemOf({entity, "llm", shard}, shards, kRpm.quota.capacity / shards);
    item["rf"] = Of(table_.table.Now().value);
    table_.Put(std::move(item));
  };
  for (std::uint32_t shard = 0; shard < terms.shards; ++shard) put("team", shard, terms.shards);
  for (const char* child : {"u0", "u1"}) put(child, 0, 1);
  for (int i = 0; i < terms.processes; ++i) {
    processes_.push_back(std::make_unique<Process>(table_, rng_.Next(), terms.network));
  }
}

DynamoBucketStore& ConservedFleet::AnyStore() {
  return processes_[rng_.Below(processes_.size())]->store;
}

milliseconds ConservedFleet::DrawBelow(milliseconds longest) {
  return milliseconds(rng_.Between(0, longest.count() - 1));
}

std::vector<Charge> ConservedFleet::DrawCharges(std::int64_t tokens) {
  std::vector<Charge> charges;
  const auto add = [&](const std::string& entity, std::int64_t amount) {
    charges.push_back(
        {.target = MakeTarget({entity, "llm", 0}, {kRpm}), .amounts = {amount * kMillitokens}});
  };
  if (rng_.Chance(0.8)) add(rng_.Chance(0.5) ? "u0" : "u1", tokens);
  if (charges.empty() || rng_.Chance(0.8)) add("team", tokens);
  return charges;
}

void ConservedFleet::AskForTakes(int calls) {
  for (int i = 0; i < calls; ++i) {
    const Instant at = scheduler().clock().Now() + DrawBelow(std::chrono::seconds(6));
    scheduler().At(at, [this] { Ask(); });
  }
}

void ConservedFleet::Ask() {
  std::vector<Charge> charges = DrawCharges(rng_.Between(1, kMaxTokens));
  const bool is_of_team = charges.back().target->key.entity == "team";
  if (is_of_team && rng_.Chance(0.05)) charges.back().amounts = {kSpreadTokens * kMillitokens};
  const bool keeps = rng_.Chance(terms_.keeps);
  const milliseconds patience = rng_.Chance(0.5) ? milliseconds(200) : std::chrono::seconds(3);
  const Deadline deadline =
      Deadline::After(scheduler().clock(), milliseconds(20) + DrawBelow(patience));
  ++tally_.asked;
  auto done = [this, charges, keeps, deadline](const Result<Decision>& decision) {
    tally_.late += deadline.ExpiredAt(scheduler().clock().Now() - milliseconds(2));
    OnResult(charges, keeps, decision);
  };
  DynamoBucketStore& store = AnyStore();
  if (keeps) {
    store.AcquireAndKeep(charges, store.Now(), deadline, std::move(done));
  } else {
    store.Acquire(charges, store.Now(), deadline, std::move(done));
  }
}

void ConservedFleet::OnResult(const std::vector<Charge>& charges, bool keeps,
                              const Result<Decision>& decision) {
  ++tally_.completed;
  if (!decision) {
    const bool is_kept = keeps && decision.error().code == Code::kDeadlineExceeded;
    ++(is_kept ? tally_.kept : tally_.failed);
    if (is_kept) Note(charges);
    return;
  }
  ++(decision->admitted    ? tally_.admitted
     : decision->contended ? tally_.contended
                           : tally_.refused);
  if (decision->admitted) Note(charges);
  if (!decision->maybe_charged_twice) return;
  ++tally_.flagged;
  for (const Charge& charge : charges) {
    flagged_[charge.target->key.entity] += charge.amounts.front();
  }
}

void ConservedFleet::Note(const std::vector<Charge>& charges, std::int64_t times) {
  for (const Charge& charge : charges) {
    told_[charge.target->key.entity] += times * charge.amounts.front();
  }
}

void ConservedFleet::HealAll() {
  for (const auto& process : processes_) process->client.Heal();
}

std::int64_t ConservedFleet::StoredOf(const std::string& entity) {
  std::int64_t stored = 0;
  for (std::uint32_t shard = 0; shard < kShardsLookedAt; ++shard) {
    const auto item = table_.Get(kShardKeys.Bucket({entity, "llm", shard}));
    if (item) stored += GetNumber(*item, "b_rpm_tc").value_or(0);
  }
  return stored;
}

std::string ConservedFleet::Compare() {
  const ConservationTally tally = Tally();
  std::string wrong;
  for (const char* entity : {"team", "u0", "u1"}) {
    const std::int64_t more = StoredOf(entity) - told_[entity];
    const std::int64_t forfeited = tally.forfeits * kSpreadTokens * kMillitokens;
    const std::int64_t allowed = tally.forfeits == 0 ? 0 : flagged_[entity] + forfeited;
    if (std::abs(more) <= allowed) continue;
    wrong += fmt::format("seed {} {}: {} millitokens more are stored than {} that were told; ",
                         seed_, entity, more, told_[entity]);
  }
  return wrong;
}

ConservationTally ConservedFleet::Tally() const {
  ConservationTally tally = tally_;
  for (const auto& process : processes_) {
    tally.forfeits += process->store.forfeits();
    tally.faults += process->client.faults();
  }
  return tally;
}

}  // namespace weir::dynamo
