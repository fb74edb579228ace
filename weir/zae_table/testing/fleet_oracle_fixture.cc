#include "weir/zae_table/testing/fleet_oracle_fixture.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/zae_table/sharding/shard_route.h"

namespace weir::dynamo {
namespace {

using LimitKey = std::pair<std::string, std::string>;
using End = LedgerCall::End;

constexpr std::size_t kMaxMessages = 10;

// The bounds of the consumption that the calls on one limit may have caused.
struct Interval {
  std::int64_t least = 0;
  std::int64_t most = 0;

  void Add(std::int64_t low, std::int64_t high) {
    least += low;
    most += high;
  }
};

struct LimitAccount {
  Interval all;
  Interval adjusts;
  int takers = 0;
  const LedgerCall* taker = nullptr;  // the last of them
  std::int64_t taken = 0;             // by that call, if it is charged once
};

std::string Partition(const BucketKey& key) {
  return Keys(std::string(kFleetNamespace)).Bucket(key).pk;
}

std::string WholePartition(std::string partition) {
  partition.resize(partition.rfind('#'));
  return partition;
}

int MostCharges(const LedgerCall& call, const LedgerTerms& terms) {
  const bool is_completed = call.end == End::kAdmitted || call.end == End::kRefused;
  if (call.is_doubtful || !is_completed) return terms.charges;
  // A refusal waits for no write, so a process that dies returns none of the tokens of those in
  // flight.
  if (call.process->is_dead()) return terms.plain_charges;
  return call.end == End::kAdmitted ? terms.plain_charges : terms.refused_charges;
}

class Comparison {
 public:
  Comparison(const FleetLedger& ledger, const Fleet& fleet, const LedgerTerms& terms)
      : terms_(terms) {
    for (const LedgerCall& call : ledger.calls()) {
      if (call.token) adjusts_[*call.token].push_back(&call);
    }
    for (const LedgerCall& call : ledger.calls()) {
      if (call.stored) {
        CountPeer(call, *call.stored);
        continue;
      }
      CheckResponse(call);
      if (!call.token) CountTake(call);
    }
    for (const auto& [token, calls] : adjusts_) CountAdjust(calls);
    Compare(Consumed(fleet));
    if (findings_.broken.size() > kMaxMessages) findings_.broken.resize(kMaxMessages);
  }
  LedgerFindings findings_;

 private:
  template <class... Args>
  void Break(fmt::format_string<Args...> text, Args&&... args) {
    findings_.broken.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  void CheckResponse(const LedgerCall& call) {
    const char* what = call.token ? "an adjust" : "an acquire";
    const BucketKey& key = call.charges.front().target->key;
    const int due = call.process->is_dead() && call.completions == 0 ? 0 : 1;
    if (call.completions != due)
      Break("{} of {} got {} answers", what, key.entity, call.completions);
    if (call.completions == 0) return;
    const nanoseconds late =
        call.completed - call.process->ResultsBy(call.deadline.at(), terms_.late);
    findings_.late = std::max(findings_.late, late);
    if (late <= terms_.late) return;
    Break("{} of {} was answered {} ms after its deadline", what, key.entity,
          std::chrono::floor<milliseconds>(late).count());
  }

  void CountPeer(const LedgerCall& call, TimesStored times) {
    for (const Charge& charge : call.charges) {
      const std::string whole = WholePartition(Partition(charge.target->key));
      std::vector<std::int64_t> least;
      for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
        const std::int64_t amount = charge.amounts[i];
        const auto [low, high] = std::minmax({times.least * amount, times.most * amount});
        least.push_back(low);
        if (high == 0 && low == 0) continue;
        LimitAccount& account = limits_[{whole, charge.target->limits[i].name}];
        account.all.Add(low, high);
        account.takers += 2;  // so the limit is not a probe
      }
      CountOnShards(charge, charge.shard, least);
    }
  }

  void CountTake(const LedgerCall& call) {
    const int most = MostCharges(call, terms_);
    const int least = call.end == End::kAdmitted ? 1 : 0;
    for (std::size_t i = 0; i < call.charges.size(); ++i) {
      const Charge& charge = call.charges[i];
      const std::string whole = WholePartition(Partition(charge.target->key));
      for (std::size_t limit = 0; limit < charge.amounts.size(); ++limit) {
        const std::int64_t amount = charge.amounts[limit];
        if (amount == 0) continue;
        LimitAccount& account = limits_[{whole, charge.target->limits[limit].name}];
        account.all.Add(least * amount, most * amount);
        ++account.takers;
        account.taker = &call;
        account.taken = amount;
      }
      const std::uint32_t shard = call.shards.empty() ? 0 : call.shards[i];
      if (least > 0) CountOnShards(charge, shard, charge.amounts);
    }
  }

  // Adds up the least that each shard must have stored.
  void CountOnShards(const Charge& charge, std::uint32_t shard,
                     const std::vector<std::int64_t>& amounts) {
    const bool is_spread = (shard & kSpread) != 0;
    const std::uint32_t among = is_spread ? shard & ~kSpread : 1;
    for (std::uint32_t part = 0; part < among; ++part) {
      BucketKey key = charge.target->key;
      key.shard = is_spread ? part : shard;
      const std::string partition = Partition(key);
      for (std::size_t limit = 0; limit < amounts.size(); ++limit) {
        if (amounts[limit] == 0) continue;
        // The parts of a sum are not the sums of the parts: the stored sum of decisions that share
        // a write differs by a millitoken on a shard, and not at all in total.
        const std::int64_t rounding = is_spread ? 1 : 0;
        least_[{partition, charge.target->limits[limit].name}] +=
            PartOf(amounts[limit], among, part) - rounding;
      }
    }
  }

  // Repetitions of one adjust count once.
  void CountAdjust(const std::vector<const LedgerCall*>& calls) {
    const bool counts = std::ranges::any_of(
        calls, [](const LedgerCall* call) { return call->end == End::kAdmitted; });
    // The known token is lost with an item that leaves, so a repetition counts again.
    const std::int64_t times = terms_.drops_returns ? static_cast<std::int64_t>(calls.size()) : 1;
    for (const Charge& charge : calls.front()->charges) {
      const std::string whole = WholePartition(Partition(charge.target->key));
      std::vector<std::int64_t> least = charge.amounts;
      for (std::size_t limit = 0; limit < least.size(); ++limit) {
        const std::int64_t delta = charge.amounts[limit];
        if (delta == 0) continue;
        const bool is_dropped = terms_.drops_returns && delta < 0;
        const std::int64_t most = counts && !is_dropped ? delta : std::max<std::int64_t>(delta, 0);
        if (!counts) least[limit] = std::min<std::int64_t>(delta, 0);
        const std::int64_t repeated_least = delta < 0 ? times * least[limit] : least[limit];
        const std::int64_t repeated_most = delta > 0 ? times * most : most;
        LimitAccount& account = limits_[{whole, charge.target->limits[limit].name}];
        account.all.Add(repeated_least, repeated_most);
        account.adjusts.Add(repeated_least, repeated_most);
      }
      CountOnShards(charge, charge.shard, least);
    }
  }

  void Compare(const std::map<LimitKey, std::int64_t>& stored) {
    std::map<LimitKey, std::int64_t> whole;
    for (const auto& [key, consumed] : stored) {
      whole[{WholePartition(key.first), key.second}] += consumed;
    }
    const auto in = [](const auto& of, const LimitKey& key) {
      const auto found = of.find(key);
      return found == of.end() ? 0 : found->second;
    };
    for (const auto& [key, consumed] : whole) limits_[key];
    for (const auto& [key, account] : limits_) CompareLimit(key, account, in(whole, key));
    if (terms_.drops_returns) return;  // returns to a shard that left go to another one
    for (const auto& [key, least] : least_) {
      if (in(stored, key) >= least) continue;
      Break("{} {}: {} millitokens are stored as consumed on this shard, callers hold {}",
            key.first, key.second, in(stored, key), least);
    }
  }

  void CompareLimit(const LimitKey& key, const LimitAccount& account, std::int64_t stored) {
    if (account.takers == 1) NoteCharges(account, stored);
    if (stored >= account.all.least && stored <= account.all.most) return;
    Break("{} {}: {} millitokens are stored as consumed, by what callers were answered {} to {}",
          key.first, key.second, stored, account.all.least, account.all.most);
  }

  void NoteCharges(const LimitAccount& account, std::int64_t stored) {
    const LedgerCall& call = *account.taker;
    const std::int64_t charges = (stored - account.adjusts.most) / account.taken;
    findings_.charges = std::max(findings_.charges, charges);
    if (call.is_doubtful || call.process->is_dead()) return;
    if (call.end == End::kAdmitted) {
      findings_.plain_charges = std::max(findings_.plain_charges, charges);
    } else if (call.end == End::kRefused) {
      findings_.refused_charges = std::max(findings_.refused_charges, charges);
    }
  }

  const LedgerTerms& terms_;
  std::map<AdjustId, std::vector<const LedgerCall*>> adjusts_;
  std::map<LimitKey, LimitAccount> limits_;  // keyed by the partition without the shard
  std::map<LimitKey, std::int64_t> least_;   // keyed by the partition of a shard
};

}  // namespace

LedgerFindings CompareWithTable(const FleetLedger& ledger, const Fleet& fleet,
                                const LedgerTerms& terms) {
  return Comparison(ledger, fleet, terms).findings_;
}

}  // namespace weir::dynamo
