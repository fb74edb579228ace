#include "weir/dynamo/fleet_fixture.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/dynamo/dynamo_fixture.h"

namespace weir::dynamo {
namespace {

std::int64_t NumberIn(const std::optional<sim::Item>& item, const std::string& name) {
  if (!item) return 0;
  const auto found = item->find(name);
  if (found == item->end()) return 0;
  const auto* number = found->second.As<sim::Decimal>();
  return number == nullptr ? 0 : number->ToInt64().value_or(0);
}

bool HasNewToken(const sim::StreamRecord& record) {
  return std::ranges::any_of(*record.after, [&](const auto& attribute) {
    return attribute.first.starts_with("w_t_") &&
           (!record.before || !record.before->contains(attribute.first));
  });
}

std::string TextIn(const sim::Item& item, const std::string& name) {
  const auto* text = item.at(name).As<std::string>();
  return text == nullptr ? "" : *text;
}

}  // namespace

class FleetProcess::NoSigner final : public Signer {
 public:
  Status Sign(HttpRequest&, const Credentials&, UnixMillis) override { return {}; }
};

class FleetProcess::Anybody final : public CredentialsProvider {
 public:
  void Get(Deadline, Done<Credentials> done) override {
    done(Credentials{.access_key_id = "test", .secret_access_key = "test"});
  }
};

FleetProcess::FleetProcess(sim::SimScheduler& scheduler, sim::SimServer& server, std::uint64_t seed,
                           milliseconds skew)
    : scheduler_(scheduler),
      skew_(skew),
      transport_(scheduler, server, seed),
      signer_(std::make_unique<NoSigner>()),
      credentials_(std::make_unique<Anybody>()),
      client_(MakeJsonClient({transport_, *signer_, *credentials_, scheduler},
                             // One attempt: what is lost is the protocol's to see.
                             {.target_prefix = "DynamoDB_20120810",
                              .host = "dynamodb.test",
                              .retry = {.max_attempts = 1},
                              .seed = seed + 1})),
      table_(std::make_unique<Table>(*client_, scheduler, std::string(kFleetTable), seed + 3)),
      buckets_(std::make_unique<DynamoBucketStore>(*table_, Keys(std::string(kFleetNamespace)),
                                                   scheduler,
                                                   BucketStoreOptions{.seed = seed + 2})) {}

Fleet::Fleet(std::uint64_t seed)
    : rng_(seed), scheduler_(rng_.Next()), server_(scheduler_.clock(), rng_.Next()) {
  CreateTableIn(server_, kFleetTable);
}

FleetProcess& Fleet::Join(milliseconds skew) {
  processes_.push_back(std::make_unique<FleetProcess>(scheduler_, server_, rng_.Next() | 1, skew));
  return *processes_.back();
}

sim::NetworkCounts Fleet::CountFaults() const {
  sim::NetworkCounts counts;
  for (const auto& process : processes_) counts += process->network().counts();
  return counts;
}

Movements Fleet::ReadMovements() const {
  Movements movements;
  for (const sim::StreamRecord& record : table().stream()) {
    if (!record.after || !record.after->contains("rf")) continue;
    const bool is_adjust = HasNewToken(record);
    const std::string bucket = TextIn(*record.after, "PK");
    for (const auto& [name, value] : *record.after) {
      if (!name.starts_with("b_") || !name.ends_with("_tc") || name == "b_wcu_tc") continue;
      const std::int64_t consumed = NumberIn(record.after, name) - NumberIn(record.before, name);
      if (consumed == 0) continue;
      const std::string limit = name.substr(2, name.size() - 5);
      movements[{bucket, limit}].push_back({record.at, consumed, is_adjust});
    }
  }
  return movements;
}

// takes(s, t] - returns(s, t] <= capacity + rate * (t - s) for all s < t, in one pass: with
// f(t) = what was taken up to t, less rate * t, it says f(t) - f(s) <= capacity.
std::vector<std::string> OverAdmissions(const Movements& movements,
                                        const std::map<std::string, Quota>& quotas,
                                        milliseconds slack) {
  __extension__ using Int128 = __int128;
  std::vector<std::string> broken;
  for (const auto& [name, list] : movements) {
    const Quota& quota = quotas.at(name.second);
    const Int128 most =
        Int128{quota.capacity} * quota.period + Int128{quota.amount} * slack.count();
    Int128 taken = 0;
    Int128 least = 0;
    bool first = true;
    for (const Movement& movement : list) {
      const Int128 drift = Int128{movement.at.value} * quota.amount;
      const Int128 before = taken * quota.period - drift;
      least = first ? before : std::min(least, before);
      first = false;
      if (!movement.is_adjust && movement.consumed < 0) {
        broken.push_back(fmt::format("{} {}: {} millitokens were given back twice at {}",
                                     name.first, name.second, -movement.consumed,
                                     movement.at.value));
        break;
      }
      if (!movement.is_adjust || movement.consumed < 0) taken += movement.consumed;
      const Int128 over = taken * quota.period - drift - least - most;
      if (over <= 0) continue;
      broken.push_back(fmt::format("{} {}: {} millitokens too many at {}", name.first, name.second,
                                   static_cast<std::int64_t>(over / quota.period) + 1,
                                   movement.at.value));
      break;
    }
  }
  return broken;
}

}  // namespace weir::dynamo
