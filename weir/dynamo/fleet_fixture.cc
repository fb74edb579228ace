#include "weir/dynamo/fleet_fixture.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/dynamo/dynamo_fixture.h"

namespace weir::dynamo {
namespace {

std::int64_t NumberIn(const sim::Item& item, const std::string& name) {
  const auto found = item.find(name);
  if (found == item.end()) return 0;
  const auto* number = found->second.As<sim::Decimal>();
  return number == nullptr ? 0 : number->ToInt64().value_or(0);
}

std::int64_t NumberIn(const std::optional<sim::Item>& item, const std::string& name) {
  return item ? NumberIn(*item, name) : 0;
}

std::string BytesIn(const sim::Item& item, const std::string& name) {
  const auto found = item.find(name);
  if (found == item.end()) return "";
  const auto* bytes = found->second.As<sim::Value::Binary>();
  return bytes == nullptr ? "" : bytes->bytes;
}

// The value that the write stored in a slot of its process; nothing: it was not fenced.
std::optional<FenceValue> SlotWrittenBy(const sim::StreamRecord& record) {
  Item slots;
  for (std::size_t i = 0; i < kFenceSlots; ++i) {
    const std::string name = SlotAttribute(i);
    const std::string bytes = BytesIn(*record.after, name);
    if (bytes.empty() || (record.before && BytesIn(*record.before, name) == bytes)) continue;
    slots[SlotAttribute(0)] = {Bytes{bytes}};
  }
  return ReadSlots(slots)[0];
}

std::string TextIn(const sim::Item& item, const std::string& name) {
  const auto* text = item.at(name).As<std::string>();
  return text == nullptr ? "" : *text;
}

// The partition key without the shard.
std::string WholeBucket(const sim::Item& item) {
  const std::string key = TextIn(item, "PK");
  return key.substr(0, key.rfind('#'));
}

// How many shards it is divided into, and what all of them have of each limit.
struct Divided {
  std::int64_t shards = 0;
  std::map<std::string, std::int64_t> tokens;
};

// Of one shard's limit at this instant, in millitokens, rounded down; `share` as the arithmetic has
// it: the capacity in equal parts, the odd millitokens to the first ones.
std::int64_t BalanceOf(const sim::Item& item, const std::string& limit, UnixMillis now) {
  const auto field = [&](const char* of) { return NumberIn(item, "b_" + limit + "_" + of); };
  const std::int64_t shards = std::max<std::int64_t>(NumberIn(item, "shard_count"), 1);
  const std::string key = TextIn(item, "PK");
  const std::int64_t shard = std::stoll(key.substr(key.rfind('#') + 1));
  const std::int64_t share = field("cp") / shards + (shard < field("cp") % shards ? 1 : 0);
  const std::int64_t elapsed = std::max<std::int64_t>(now.value - NumberIn(item, "rf"), 0);
  return std::min(share, field("tk") + elapsed * field("ra") / (field("rp") * shards));
}

Divided DividedAt(const std::map<std::string, sim::Item>& shards, UnixMillis now) {
  Divided divided;
  for (const auto& [key, item] : shards) {
    divided.shards = std::max(divided.shards, NumberIn(item, "shard_count"));
    for (const auto& [name, value] : item) {
      if (!name.starts_with("b_") || !name.ends_with("_tk") || name == "b_wcu_tk") continue;
      const std::string limit = name.substr(2, name.size() - 5);
      divided.tokens[limit] += BalanceOf(item, limit, now);
    }
  }
  return divided;
}

UnixMillis LatestRefill(const std::map<std::string, sim::Item>& shards, UnixMillis at) {
  for (const auto& [key, item] : shards) at = std::max(at, UnixMillis{NumberIn(item, "rf")});
  return at;
}

}  // namespace

std::vector<Division> Fleet::ReadDivisions() const {
  std::vector<Division> divisions;
  std::map<std::string, std::map<std::string, sim::Item>> buckets;
  const auto& stream = table().stream();
  for (std::size_t i = 0; i < stream.size(); ++i) {
    if (!stream[i].after || !stream[i].after->contains("rf")) continue;
    const std::string bucket = WholeBucket(*stream[i].after);
    auto& now = buckets[bucket];
    const bool divides =
        !now.empty() && (!stream[i].before || NumberIn(stream[i].before, "shard_count") !=
                                                  NumberIn(stream[i].after, "shard_count"));
    if (!divides) {
      now[TextIn(*stream[i].after, "PK")] = *stream[i].after;
      continue;
    }
    const auto before = now;
    // All writes of one transaction stand together.
    for (; i < stream.size() && stream[i].after && stream[i].after->contains("rf") &&
           WholeBucket(*stream[i].after) == bucket &&
           (!stream[i].before ||
            NumberIn(stream[i].before, "shard_count") != NumberIn(stream[i].after, "shard_count"));
         ++i) {
      now[TextIn(*stream[i].after, "PK")] = *stream[i].after;
    }
    --i;
    const UnixMillis at = LatestRefill(now, stream[i].at);
    const Divided was = DividedAt(before, at);
    const Divided is = DividedAt(now, at);
    divisions.push_back({bucket, was.shards, is.shards, was.tokens, is.tokens});
  }
  return divisions;
}

FleetProcess::FleetProcess(sim::SimScheduler& scheduler, sim::SimServer& server,
                           BucketStoreOptions options, milliseconds skew)
    : process_(scheduler, server, options.seed, skew),
      table_(process_.client(), process_.scheduler(), std::string(kFleetTable), options.seed + 3),
      buckets_(table_, Keys(std::string(kFleetNamespace)), process_.scheduler(), options) {}

void FleetProcess::StopUntil(Instant until) {
  stops_.push_back({scheduler().clock().Now(), until});
  scheduler().StopUntil(until);
}

Instant FleetProcess::AnswersBy(Instant due, nanoseconds late) const {
  for (const auto& [from, until] : stops_) {
    if (from <= due + late) due = std::max(due, until);
  }
  return due;
}

Fleet::Fleet(std::uint64_t seed, std::int64_t write_capacity)
    : rng_(seed),
      write_capacity_(write_capacity),
      scheduler_(rng_.Next()),
      server_(scheduler_.clock(), rng_.Next()) {
  CreateTableIn(server_, kFleetTable);
}

FleetProcess& Fleet::Join(milliseconds skew) {
  const BucketStoreOptions options{
      .seed = rng_.Next() | 1,
      .write_capacity = write_capacity_,
      .observe_plan = [this](const FenceValue& value, const BucketRequest& request) {
        for (std::size_t i = 0; i < request.sums.size(); ++i) {
          planned_[value][request.target.limits[i].name] = request.sums[i];
        }
      }};
  processes_.push_back(std::make_unique<FleetProcess>(scheduler_, server_, options, skew));
  return *processes_.back();
}

void Fleet::EnableTtl() {
  server_.Handle(RequestOf({.operation = "UpdateTimeToLive",
                            .body = R"({"TableName":"limits","TimeToLiveSpecification":)"
                                    R"({"Enabled":true,"AttributeName":"ttl"}})"}));
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
    const auto planned = planned_.find(SlotWrittenBy(record).value_or(FenceValue{}));
    const std::string bucket = WholeBucket(*record.after);
    for (const auto& [name, value] : *record.after) {
      if (!name.starts_with("b_") || !name.ends_with("_tc") || name == "b_wcu_tc") continue;
      const std::int64_t consumed = NumberIn(record.after, name) - NumberIn(record.before, name);
      const std::string limit = name.substr(2, name.size() - 5);
      auto& list = movements[{bucket, limit}];
      if (planned == planned_.end() || !planned->second.contains(limit)) {
        if (consumed != 0) list.push_back({record.at, consumed, consumed < 0});
        continue;
      }
      // In the order in which they count.
      const auto& [takes, debits, returns] = planned->second.at(limit);
      if (returns > 0) list.push_back({record.at, -returns, true});
      if (takes > 0) list.push_back({record.at, takes, false});
      if (debits > 0) list.push_back({record.at, debits, true});
    }
  }
  return movements;
}

std::map<std::pair<std::string, std::string>, std::int64_t> Consumed(const Fleet& fleet) {
  std::map<std::pair<std::string, std::string>, std::int64_t> consumed;
  for (const sim::StreamRecord& record : fleet.table().stream()) {
    if (!record.after || !record.after->contains("rf")) continue;
    const std::string partition = TextIn(*record.after, "PK");
    for (const auto& [name, value] : *record.after) {
      if (!name.starts_with("b_") || !name.ends_with("_tc") || name == "b_wcu_tc") continue;
      const std::int64_t change = NumberIn(record.after, name) - NumberIn(record.before, name);
      if (change != 0) consumed[{partition, name.substr(2, name.size() - 5)}] += change;
    }
  }
  return consumed;
}

std::vector<std::string> Minted(const std::vector<Division>& divisions) {
  std::vector<std::string> broken;
  for (const Division& division : divisions) {
    for (const auto& [limit, tokens] : division.tokens) {
      const auto before = division.tokens_before.find(limit);
      // Each shard's refill is rounded down.
      const std::int64_t most =
          (before == division.tokens_before.end() ? 0 : before->second) + division.shards_before;
      if (tokens <= most) continue;
      broken.push_back(fmt::format("{} {}: {} shards had {} millitokens, {} have {}",
                                   division.bucket, limit, division.shards_before, most,
                                   division.shards, tokens));
    }
  }
  return broken;
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
