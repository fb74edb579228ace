#include "weir/zae_table/testing/zae_client_fixture.h"

#include <algorithm>
#include <utility>

namespace weir::dynamo {
namespace {

constexpr milliseconds kReadLimit{2'000};
constexpr int kOtherShards = 2;

Charge Negated(Charge charge) {
  for (std::int64_t& amount : charge.amounts) amount = -amount;
  return charge;
}

bool IsNothing(const Charge& charge) {
  return std::ranges::all_of(charge.amounts, [](std::int64_t amount) { return amount == 0; });
}

}  // namespace

struct ZaeClient::Acquiring {
  enum class ChargeState { kLanded, kSlow, kRefused, kFailed };

  std::vector<Charge> charges;
  std::vector<ChargeState> parts;
  std::vector<std::optional<Item>> items;
  std::vector<int> tries;
  std::size_t open = 0;
  ZaeDone done;

  bool Has(ChargeState part) const { return std::ranges::find(parts, part) != parts.end(); }
  std::vector<std::size_t> AllSlow() const {
    std::vector<std::size_t> slow;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] == ChargeState::kSlow) slow.push_back(i);
    }
    return slow;
  }
};

ZaeClient::ZaeClient(Fleet& fleet, FleetLedger& ledger, std::uint64_t seed)
    : fleet_(fleet), rng_(seed), sender_(fleet, &ledger, seed + 1) {}

std::int64_t ZaeClient::ShardsOf(const BucketKey& key) const {
  const auto found = shards_.find({key.entity, key.resource});
  return found == shards_.end() ? 1 : found->second;
}

std::uint32_t ZaeClient::DrawShard(const BucketKey& key) {
  return static_cast<std::uint32_t>(rng_.Below(static_cast<std::uint64_t>(ShardsOf(key))));
}

void ZaeClient::Learn(const BucketKey& key, const std::optional<Item>& item) {
  if (!item) return;
  shards_[{key.entity, key.resource}] =
      std::max(ShardsOf(key), std::min(ZaeShards(*item), kMaxZaeShards));
}

void ZaeClient::Acquire(std::span<const Charge> charges, ZaeDone done) {
  auto acquiring = std::make_shared<Acquiring>();
  acquiring->charges.assign(charges.begin(), charges.end());
  acquiring->parts.resize(charges.size(), Acquiring::ChargeState::kSlow);
  acquiring->items.resize(charges.size());
  acquiring->tries.resize(charges.size());
  acquiring->open = charges.size();
  acquiring->done = std::move(done);
  for (std::size_t i = 0; i < charges.size(); ++i) {
    acquiring->charges[i].shard = DrawShard(charges[i].target->key);
    Speculate(acquiring, i);
  }
}

void ZaeClient::Speculate(const AcquiringPtr& acquiring, std::size_t i) {
  const Charge& charge = acquiring->charges[i];
  sender_.Send(
      {ZaeSpeculative(sender_.Pass(), charge)}, {charge},
      [this, acquiring, i](const ZaeResponse& response) { Speculated(acquiring, i, response); });
}

void ZaeClient::Speculated(const AcquiringPtr& acquiring, std::size_t i,
                           const ZaeResponse& response) {
  Charge& charge = acquiring->charges[i];
  auto& part = acquiring->parts[i];
  using ChargeState = Acquiring::ChargeState;
  const std::optional<Item>& item = response ? response->item : response.error().old_item;
  Learn(charge.target->key, item);
  if (response) {
    part = ChargeState::kLanded;
    acquiring->items[i] = item;
  } else if (response.error().kind != FailureClass::kConditional) {
    part = ChargeState::kFailed;
  } else {
    const ZaeVerdict verdict = JudgeZae(item, charge, sender_.now());
    part = verdict == ZaeVerdict::kRefused ? ChargeState::kRefused : ChargeState::kSlow;
    if (verdict == ZaeVerdict::kBusy) Bump(charge.target->key, ZaeShards(*item));
    const std::uint32_t other = DrawShard(charge.target->key);
    if (part == ChargeState::kRefused && other != charge.shard &&
        acquiring->tries[i]++ < kOtherShards) {
      charge.shard = other;
      return Speculate(acquiring, i);
    }
  }
  if (--acquiring->open == 0) AllSpeculated(acquiring);
}

void ZaeClient::Bump(const BucketKey& key, std::int64_t shards) {
  if (2 * shards > kMaxZaeShards) return;
  ++tally_.bumps;
  shards_[{key.entity, key.resource}] = 2 * shards;
  sender_.Send({ZaeBump(sender_.Pass(), key, shards)}, {}, [](const ZaeResponse&) {});
}

void ZaeClient::AllSpeculated(const AcquiringPtr& acquiring) {
  using ChargeState = Acquiring::ChargeState;
  const auto slow = acquiring->AllSlow();
  if (slow.empty() || acquiring->Has(ChargeState::kRefused) ||
      acquiring->Has(ChargeState::kFailed)) {
    return Finish(acquiring);
  }
  std::vector<TableKey> keys;
  for (const std::size_t i : slow) {
    BucketKey key = acquiring->charges[i].target->key;
    key.shard = acquiring->charges[i].shard;
    keys.push_back(sender_.keys().Bucket(key));
  }
  const Deadline deadline = Deadline::After(fleet_.scheduler().clock(), kReadLimit);
  sender_.table().BatchGet(keys, deadline, [this, acquiring, slow](auto items) {
    if (items) return Refill(acquiring, *std::move(items));
    for (const std::size_t i : slow) acquiring->parts[i] = ChargeState::kFailed;
    Finish(acquiring);
  });
}

void ZaeClient::Refill(const AcquiringPtr& acquiring, std::vector<std::optional<Item>> items) {
  const ZaePass pass = sender_.Pass();
  std::vector<Write> writes;
  std::vector<Write> checks;
  std::vector<Charge> charges;
  for (const std::size_t i : acquiring->AllSlow()) {
    const Charge& charge = acquiring->charges[i];
    const BucketKey& key = charge.target->key;
    const std::optional<Item>& item = items[charges.size()];
    charges.push_back(charge);
    ++tally_.slow;
    if (!item) {
      writes.push_back(ZaeCreate(pass, charge, ShardsOf(key)));
      checks.push_back(ZaeOwnerCheck(pass, key));
      continue;
    }
    for (const Limit& limit : charge.target->limits) {
      tally_.seeds += ReadZaeMeter(*item, limit.name) ? 0 : 1;
    }
    auto write = ZaeNormal(pass, charge, *item);
    if (!write) {
      acquiring->parts[i] = Acquiring::ChargeState::kRefused;
      return Finish(acquiring);
    }
    writes.push_back(*std::move(write));
  }
  std::ranges::move(checks, std::back_inserter(writes));
  sender_.Send(
      std::move(writes), std::move(charges), [this, acquiring](const ZaeResponse& response) {
        const bool is_lost = !response && (response.error().kind == FailureClass::kConditional ||
                                           response.error().kind == FailureClass::kConflict);
        if (!is_lost) return Settle(acquiring, response);
        ++tally_.lost_passes;
        Retry(acquiring);
      });
}

void ZaeClient::Retry(const AcquiringPtr& acquiring) {
  std::vector<Write> writes;
  std::vector<Charge> charges;
  for (const std::size_t i : acquiring->AllSlow()) {
    if (IsNothing(acquiring->charges[i])) continue;
    charges.push_back(acquiring->charges[i]);
    writes.push_back(ZaeRetry(sender_.Pass(), acquiring->charges[i]));
  }
  if (writes.empty()) return Settle(acquiring, WriteResponse{});
  sender_.Send(std::move(writes), std::move(charges),
               [this, acquiring](const ZaeResponse& response) { Settle(acquiring, response); });
}

void ZaeClient::Settle(const AcquiringPtr& acquiring, const ZaeResponse& response) {
  using ChargeState = Acquiring::ChargeState;
  const bool is_refused = !response && !response.error().maybe_applied;
  for (const std::size_t i : acquiring->AllSlow()) {
    acquiring->parts[i] = response     ? ChargeState::kLanded
                          : is_refused ? ChargeState::kRefused
                                       : ChargeState::kFailed;
  }
  Finish(acquiring);
}

void ZaeClient::Finish(const AcquiringPtr& acquiring) {
  using ChargeState = Acquiring::ChargeState;
  const bool is_admitted = std::ranges::all_of(
      acquiring->parts, [](const ChargeState part) { return part == ChargeState::kLanded; });
  std::vector<ZaeHeld> held;
  for (std::size_t i = 0; i < acquiring->parts.size(); ++i) {
    const Charge& charge = acquiring->charges[i];
    if (is_admitted) {
      held.push_back({charge, acquiring->items[i]});
    } else if (acquiring->parts[i] == ChargeState::kLanded) {
      ++tally_.compensated;
      SendAdjust(Negated(charge), acquiring->items[i]);
    }
  }
  ++(is_admitted                            ? tally_.admitted
     : acquiring->Has(ChargeState::kFailed) ? tally_.failed
                                            : tally_.refused);
  acquiring->done(std::move(held));
}

void ZaeClient::Adjust(const ZaeHeld& held, std::vector<std::int64_t> deltas) {
  SendAdjust({held.charge.target, std::move(deltas), held.charge.shard}, held.item);
}

void ZaeClient::SendAdjust(const Charge& delta, const std::optional<Item>& seen) {
  if (IsNothing(delta)) return;
  sender_.Send({ZaeAdjust(sender_.Pass(), delta, seen)}, {delta},
               [this, delta, seen](const ZaeResponse& response) {
                 if (response || response.error().kind != FailureClass::kConditional || !seen)
                   return;
                 ++tally_.unproven;
                 SendAdjust(delta, std::nullopt);
               });
}

void ZaeClient::SyncParameters(const TargetPtr& target, const std::vector<std::string>& removed) {
  const std::int64_t shards = ShardsOf(target->key);
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    sender_.Send({ZaeSync(sender_.Pass(), *target, shard, removed)}, {}, [](const ZaeResponse&) {});
  }
}

}  // namespace weir::dynamo
