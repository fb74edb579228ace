#include "weir/zae_table/testing/fleet_stream_fixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "weir/zae_table/testing/fleet_fixture.h"

namespace weir::dynamo {

std::string TextIn(const sim::Item& item, const std::string& name) {
  const auto* text = item.at(name).As<std::string>();
  return text == nullptr ? "" : *text;
}

std::int64_t NumberIn(const sim::Item& item, const std::string& name) {
  const auto found = item.find(name);
  if (found == item.end()) return 0;
  const auto* number = found->second.As<sim::Decimal>();
  return number == nullptr ? 0 : number->ToInt64().value_or(0);
}

namespace {

std::int64_t NumberInImage(const std::optional<sim::Item>& item, const std::string& name) {
  return item ? NumberIn(*item, name) : 0;
}

std::string BytesIn(const sim::Item& item, const std::string& name) {
  const auto found = item.find(name);
  if (found == item.end()) return "";
  const auto* bytes = found->second.As<sim::Value::Binary>();
  return bytes == nullptr ? "" : bytes->bytes;
}

// Returns the value that the write stored in a slot of its process; nothing if it was not fenced.
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

// Returns the partition key without the shard.
std::string WholeBucket(const sim::Item& item) {
  const std::string key = TextIn(item, "PK");
  return key.substr(0, key.rfind('#'));
}

using Shards = std::map<std::string, const sim::Item*>;  // by partition key

// The number of shards of a bucket, and the tokens of each limit in all of them.
struct Divided {
  std::int64_t shards = 0;
  std::map<std::string, std::int64_t> tokens;
};

// Returns the balance of one shard's limit at this time, in millitokens, rounded down. Shares are
// equal parts of the capacity; the first shards have the odd millitokens.
std::int64_t BalanceOf(const sim::Item& item, const std::string& limit, UnixMillis now) {
  const auto field = [&](const char* of) { return NumberIn(item, "b_" + limit + "_" + of); };
  const std::int64_t shards = std::max<std::int64_t>(NumberIn(item, "shard_count"), 1);
  const std::string key = TextIn(item, "PK");
  const std::int64_t shard = std::stoll(key.substr(key.rfind('#') + 1));
  const std::int64_t share = field("cp") / shards + (shard < field("cp") % shards ? 1 : 0);
  const std::int64_t elapsed = std::max<std::int64_t>(now.value - NumberIn(item, "rf"), 0);
  return std::min(share, field("tk") + elapsed * field("ra") / (field("rp") * shards));
}

Divided DividedAt(const Shards& shards, UnixMillis now) {
  Divided divided;
  for (const auto& [key, item] : shards) {
    divided.shards = std::max(divided.shards, NumberIn(*item, "shard_count"));
    for (const auto& [name, value] : *item) {
      if (!name.starts_with("b_") || !name.ends_with("_tk") || name == "b_wcu_tk") continue;
      const std::string limit = name.substr(2, name.size() - 5);
      if (!item->contains("b_" + limit + "_cp")) continue;
      divided.tokens[limit] += BalanceOf(*item, limit, now);
    }
  }
  return divided;
}

// Returns the change of an attribute b_<limit>_tc. A client of zae-limiter that seeds a limit
// replaces its old value, and its aggregator copies the old value to other shards: neither is
// consumption.
std::int64_t ConsumedIn(const sim::StreamRecord& record, const std::string& name) {
  const std::string stem = name.substr(0, name.size() - 2);
  const auto is_whole = [&](const std::optional<sim::Item>& item) {
    return item && item->contains(stem + "tk") && item->contains(stem + "cp");
  };
  if (!record.before && !is_whole(record.after)) return 0;
  const bool is_seeded =
      is_whole(record.after) && !is_whole(record.before) &&
      NumberInImage(record.after, stem + "tk") != NumberInImage(record.before, stem + "tk");
  return NumberInImage(record.after, name) - (is_seeded ? 0 : NumberInImage(record.before, name));
}

// Returns the tokens that a client of zae-limiter created: its new shards and limits are full, even
// if their tokens are counted already.
std::int64_t MintedByPeer(const sim::StreamRecord& record, const std::string& limit) {
  const std::string tokens = "b_" + limit + "_tk";
  if (record.before && record.before->contains(tokens)) return 0;
  return NumberInImage(record.after, tokens) + ConsumedIn(record, "b_" + limit + "_tc");
}

// Returns true if a shard is new, or has another number of shards than before.
bool Divides(const sim::StreamRecord& record) {
  return !record.before ||
         NumberInImage(record.before, "shard_count") != NumberInImage(record.after, "shard_count");
}

// Returns true if all shards exist and agree on their number. Otherwise sums of balances do not
// show what one transaction of Weir does: a client of zae-limiter that doubles a bucket leaves
// tokens above the new shares, and the shares of missing shards are not refilled.
bool IsWhole(const Shards& shards) {
  return !shards.empty() && std::ranges::all_of(shards, [&](const auto& shard) {
    return NumberIn(*shard.second, "shard_count") == std::ssize(shards);
  });
}

UnixMillis LatestRefill(const Shards& shards, UnixMillis at) {
  for (const auto& [key, item] : shards) at = std::max(at, UnixMillis{NumberIn(*item, "rf")});
  return at;
}

}  // namespace

std::vector<Division> Fleet::ReadDivisions() const {
  std::vector<Division> divisions;
  std::map<std::string, Shards> buckets;
  const auto& stream = table().stream();
  for (auto next = stream.begin(); next != stream.end();) {
    const auto from = next;
    next = std::find_if(from, stream.end(),
                        [&](const auto& record) { return record.request != from->request; });
    std::map<std::string, Shards> before;
    std::set<std::string> divided;
    for (const sim::StreamRecord& record : std::span(from, next)) {
      if (!record.after || !record.after->contains("rf")) continue;
      const std::string bucket = WholeBucket(*record.after);
      before.try_emplace(bucket, buckets[bucket]);
      buckets[bucket][TextIn(*record.after, "PK")] = &*record.after;
      if (Divides(record) && !peers().Made(record)) divided.insert(bucket);
    }
    for (const std::string& bucket : divided) {
      if (!IsWhole(before[bucket])) continue;
      const UnixMillis at = LatestRefill(buckets[bucket], from->at);
      const Divided was = DividedAt(before[bucket], at);
      const Divided is = DividedAt(buckets[bucket], at);
      divisions.push_back({bucket, was.shards, is.shards, was.tokens, is.tokens});
    }
  }
  return divisions;
}

Movements Fleet::ReadMovements() const {
  Movements movements;
  std::set<std::pair<std::string, std::string>> known;
  for (const sim::StreamRecord& record : table().stream()) {
    if (!record.after || !record.after->contains("rf")) continue;
    const bool by_peer = peers().Made(record);
    const bool is_adjust = by_peer && peers().IsAdjust(record);
    const auto planned =
        by_peer ? planned_.end() : planned_.find(SlotWrittenBy(record).value_or(FenceValue{}));
    const std::string bucket = WholeBucket(*record.after);
    for (const auto& [name, value] : *record.after) {
      if (!name.starts_with("b_") || !name.ends_with("_tc") || name == "b_wcu_tc") continue;
      const std::int64_t consumed = ConsumedIn(record, name);
      const std::string limit = name.substr(2, name.size() - 5);
      const bool is_first = known.insert({bucket, limit}).second;
      const std::int64_t minted = by_peer && !is_first ? MintedByPeer(record, limit) : 0;
      if (minted != 0) movements[{bucket, limit}].push_back({record.at, -minted, true});
      auto& list = movements[{bucket, limit}];
      if (planned == planned_.end() || !planned->second.contains(limit)) {
        if (consumed != 0) list.push_back({record.at, consumed, is_adjust || consumed < 0});
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
      const std::int64_t change = ConsumedIn(record, name);
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
      // The refill of each shard is rounded down.
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

// takes(s, t] - returns(s, t] <= capacity + rate * (t - s) for all s < t, in one pass: with f(t) =
// the tokens taken up to t, less rate * t, this is f(t) - f(s) <= capacity.
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
