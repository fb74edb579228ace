#include "weir/zae_table/sharding/shard_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "weir/zae_table/actor/write_load.h"
#include "weir/zae_table/bucket/bucket_lifetime.h"
#include "weir/zae_table/bucket/limit_updates.h"

namespace weir::dynamo {
namespace {

// If the latest refill is this recent, other processes refill all the time. Then the split gives up
// the refill since rf, so that it need not change rf: a write that requires the same rf would
// hardly succeed.
constexpr milliseconds kFresh{50};

constexpr std::uint32_t kMaxInTransaction = 99;

/// An item, and its content.
struct SeenItem {
  const Item* item = nullptr;
  BucketImage image;
};

/// A shard that is missing.
struct Heir {
  std::uint32_t shard;
  const SeenItem* leftover;  ///< the item that it replaces; null: none
};

/// One shard that exists, and the missing shards that split from it.
struct Donor : SeenItem {
  std::vector<Heir> heirs{};
};

// Returns true for an attribute that an heir copies from its donor: an heir begins as a clone of
// the donor that was never used.
bool IsCloned(std::string_view name) {
  static constexpr std::string_view kOwn[] = {"PK", "SK", "rf", "shard_count", "ttl", "vu"};
  for (const auto* prefix : {"GSI", "b_", "w_"}) {
    if (name.starts_with(prefix)) return false;
  }
  return std::ranges::find(kOwn, name) == std::end(kOwn);
}

// A write that was planned for the leftover could be applied to the heir if both had the same rf:
// the heir has no slots, and a claim of an empty slot relies on rf (design/write-fence.md). An rf
// that a wrong clock has moved far ahead is not taken over.
UnixMillis TimeOfHeir(const SeenItem* leftover, UnixMillis now) {
  if (leftover == nullptr || leftover->image.bucket.time > now + kUncountedAhead) return now;
  return std::max(now, leftover->image.bucket.time + milliseconds(1));
}

// Returns the consumption that is stored in a leftover. The heir keeps it, because aggregators
// count the difference of an item's old and new consumption.
std::int64_t ConsumptionOf(const SeenItem* leftover, std::string_view limit) {
  if (leftover == nullptr) return 0;
  return GetNumber(*leftover->item, LimitAttribute(limit, "tc")).value_or(0);
}

// Requires that the leftover is as it was seen. Other processes may still write on it, and it may
// have become another item.
void RequireLeftover(Expression& e, const SeenItem& leftover) {
  for (const auto* attribute : {"rf", "shard_count", "disabled", "bypass"})
    e.RequireSameAs(*leftover.item, attribute);
  for (const std::string& limit : leftover.image.names)
    e.RequireSameAs(*leftover.item, LimitAttribute(limit, "tk"));
}

// Plans the writes on one donor and its heirs, in one of two ways. Locked (moves_rf_): the write
// requires the rf that was seen, sets rf to now, and divides the refilled balances. Not locked: rf
// stays, and the stored balances are divided, so other processes may refill at the same time.
class Splitter {
 public:
  Splitter(const Keys& keys, const Donor& donor, std::uint32_t shards, UnixMillis now)
      : keys_(keys),
        donor_(donor),
        image_(donor.image),
        shards_(shards),
        now_(std::max(now, image_.bucket.time)),
        updates_(LimitUpdatesOf(
            image_, {.target = *MakeTarget(image_.key, {}), .sums = {}, .adjusts = true}, now_)),
        ttl_(Ttl()),
        moves_rf_(now_ - image_.bucket.time > kFresh || HasDebt() || ExpiresEarly()) {}

  /// The write on the donor, then one for each heir.
  void AppendTo(std::vector<Write>& writes) {
    writes.push_back(Give());
    for (const Heir& heir : donor_.heirs) writes.push_back(Create(heir));
  }

 private:
  Expression& e() { return give_.expression; }

  // After the split the donor refills more slowly, and may not be full yet at its ttl.
  bool ExpiresEarly() const {
    return image_.ttl_seconds &&
           *image_.ttl_seconds < FullSince(now_, AfterSplit(), 0, image_.evicted);
  }

  // At a lower rate, deep debt takes longer to repay than the ttl allows, so the ttl must change.
  bool HasDebt() const {
    return std::ranges::any_of(updates_,
                               [](const LimitUpdate& update) { return update.before.tokens < 0; });
  }

  // The write on the donor.
  Write Give() {
    give_.key = keys_.Bucket(image_.key);
    RequireAsSeen();
    e().Set("shard_count", Of(Count()));
    Bucket after{.time = now_, .meters = {}};
    for (const LimitUpdate& update : updates_)
      after.meters.push_back(moves_rf_ ? SplitRefilled(update) : SplitStored(update));
    if (moves_rf_) {
      e().Require("rf", "=", image_.bucket.time.value).Set("rf", Of(now_.value));
      e().Set(kRemainders, Of(FormatRemainders(image_.key.shard, image_.names, after)));
      if (image_.ttl_seconds) {
        e().Require("ttl", "=", *image_.ttl_seconds).Set("ttl", Of(ttl_));
      }
    } else {
      e().Require("rf", "<=", now_.value);
    }
    // The writes on the item are divided too, so their limit begins full. The count of this write
    // shows to others that balances have changed (BucketImage::written_units).
    if (image_.wcu) {
      e().Set(LimitAttribute(kWriteLimit, "tk"), Of(image_.wcu->quota.capacity));
      e().Add(LimitAttribute(kWriteLimit, "tc"), image_.write_units * kWriteCost);
    }
    return std::move(give_);
  }

  void RequireAsSeen() {
    e().RequireExists("PK").RequireAbsent("disabled").RequireAbsent("bypass");
    RequireShards(e(), image_);
    // The heirs get the limits and parameters that were seen, and no request for a refill (vu,
    // which comes with new parameters). So none of these may have changed.
    RequireUnchanged(kExtras);
    RequireUnchanged(kGone);
    RequireUnchanged(kJoins);
    RequireUnchanged("vu");
    for (const std::string& limit : image_.names) {
      for (const auto* field : {"cp", "ra", "rp"}) RequireUnchanged(LimitAttribute(limit, field));
    }
  }

  void RequireUnchanged(std::string_view attribute) { e().RequireSameAs(*donor_.item, attribute); }

  // Never less than the stored count: other clients only raise the count that they use.
  std::int64_t Count() const {
    return std::max<std::int64_t>(shards_, image_.stored_shards.value_or(1));
  }

  // Takes the heirs' parts from the refilled balance. Returns the meter of the donor after the
  // split, of which only the remainder is exact.
  Meter SplitRefilled(const LimitUpdate& update) {
    const std::string tokens = LimitAttribute(update.name, "tk");
    const std::int64_t moved = TokensPerHeir(update, update.conformed.tokens) * heirs();
    if (Overflows(update)) {
      e().Require(tokens, ">=", update.before.quota.capacity - update.gain);
      e().Set(tokens, Of(update.before.quota.capacity - moved));
      return FullMeter(update.before.quota);
    }
    e().Require(tokens, "<=", update.before.quota.capacity - update.gain_up);
    e().Require(tokens, ">=", moved - update.gain + (moved > 0 ? 0 : LeastDebt(update)));
    if (moved != update.gain) e().Add(tokens, update.gain - moved);
    return update.conformed;
  }

  // Takes the heirs' parts from the stored balance.
  Meter SplitStored(const LimitUpdate& update) {
    const std::int64_t moved = TokensPerHeir(update, update.before.tokens) * heirs();
    const std::string tokens = LimitAttribute(update.name, "tk");
    e().Require(tokens, ">=", moved);
    if (moved > 0) e().Add(tokens, -moved);
    return update.before;
  }

  std::int64_t heirs() const { return static_cast<std::int64_t>(donor_.heirs.size()); }

  // Returns the tokens of each heir: an equal part of `balance`, at most the heir's capacity, and
  // no debt.
  std::int64_t TokensPerHeir(const LimitUpdate& update, std::int64_t balance) const {
    const std::int64_t share = ShareOf(update.quota, shards_, shards_ - 1).capacity;
    return std::clamp<std::int64_t>(balance / (heirs() + 1), 0, share);
  }

  // Returns the limits as the donor refills them after the split.
  std::vector<LimitUpdate> AfterSplit() const {
    std::vector<LimitUpdate> after = updates_;
    for (LimitUpdate& update : after) {
      update.share = ShareOf(update.quota, shards_, image_.key.shard);
      update.conformed.quota = update.share;
    }
    return after;
  }

  std::int64_t Ttl() const { return TtlAt(now_, AfterSplit(), image_.evicted); }

  // Returns the least balance from which the slower refill repays all debt before the item may be
  // deleted: others may have left debt since.
  std::int64_t LeastDebt(const LimitUpdate& update) const {
    if (!image_.ttl_seconds) return -kMaxDebt;
    LimitUpdate after = update;
    after.share = ShareOf(update.quota, shards_, image_.key.shard);
    return std::min<std::int64_t>(LeastFullBy(ttl_, after, now_), 0);
  }

  // The write that creates an heir.
  Write Create(const Heir& heir) const {
    BucketKey key = image_.key;
    key.shard = heir.shard;
    Write put{.kind = Write::Kind::kPut, .item = keys_.BucketIndexes(key)};
    for (const auto& [name, value] : *donor_.item) {
      if (IsCloned(name)) put.item.emplace(name, value);
    }
    put.item.emplace("rf", Of(TimeOfHeir(heir.leftover, now_).value));
    put.item.emplace("shard_count", Of(Count()));
    for (const auto attribute : {kExtras, kGone}) {
      const auto found = donor_.item->find(attribute);
      if (found != donor_.item->end()) put.item.insert(*found);
    }
    if (image_.ttl_seconds) put.item.emplace("ttl", Of(ttl_));
    for (const LimitUpdate& update : updates_) {
      const std::int64_t balance = moves_rf_ ? update.conformed.tokens : update.before.tokens;
      AddMeter(put.item, update.name, update.quota, TokensPerHeir(update, balance),
               ConsumptionOf(heir.leftover, update.name));
    }
    const Quota writes = image_.wcu ? image_.wcu->quota : WriteQuota();
    AddMeter(put.item, kWriteLimit, writes, writes.capacity,
             ConsumptionOf(heir.leftover, kWriteLimit));
    if (heir.leftover == nullptr) {
      put.expression.RequireAbsent("PK");
    } else {
      RequireLeftover(put.expression, *heir.leftover);
    }
    return put;
  }

  const Keys& keys_;
  const Donor& donor_;
  const BucketImage& image_;
  std::uint32_t shards_;
  UnixMillis now_;
  std::vector<LimitUpdate> updates_;
  std::int64_t ttl_;
  bool moves_rf_;
  Write give_;
};

// Returns the shard that `shard` split from or, if that is missing, the nearest ancestor that
// exists.
Donor& DonorOf(std::uint32_t shard, std::vector<Donor>& donors) {
  while (shard > 0) {
    shard -= std::bit_floor(shard);
    const auto found =
        std::ranges::find(donors, shard, [](const Donor& d) { return d.image.key.shard; });
    if (found != donors.end()) return *found;
  }
  return donors.front();
}

/// The items of a bucket, in the order of their shards.
struct SeenItems {
  std::vector<Donor> donors;
  std::vector<SeenItem> leftovers;
};

// An item beyond its own count of shards is a bucket of its own: a caller has named its shard.
Result<SeenItems> ReadItems(const ShardsSeen& seen) {
  SeenItems items;
  for (std::uint32_t shard = 0; shard < seen.items.size(); ++shard) {
    const std::optional<Item>& item = seen.items[shard];
    if (!item) continue;
    WEIR_ASSIGN_OR_RETURN(BucketImage image, ReadImage(*item));
    if (shard < seen.count) {
      items.donors.push_back({{.item = &*item, .image = std::move(image)}});
    } else if (shard < image.shards) {
      items.leftovers.push_back({.item = &*item, .image = std::move(image)});
    }
  }
  return items;
}

bool IsThere(const ShardsSeen& seen, std::uint32_t shard) {
  return shard < std::min<std::size_t>(seen.items.size(), seen.count) && seen.items[shard];
}

const SeenItem* FindLeftover(const SeenItems& items, std::uint32_t shard) {
  const auto found = std::ranges::find(items.leftovers, shard,
                                       [](const SeenItem& i) { return i.image.key.shard; });
  return found == items.leftovers.end() ? nullptr : &*found;
}

}  // namespace

std::optional<std::uint32_t> DoubleOf(const BucketImage& image) {
  const std::uint32_t doubled = 2 * image.shards;
  if (doubled > kMaxShards) return std::nullopt;
  const bool enough = std::ranges::all_of(
      image.stored, [&](const Quota& quota) { return quota.capacity / doubled >= kLeastShare; });
  return enough ? std::optional(doubled) : std::nullopt;
}

Result<std::vector<Write>> PlanShards(const Keys& keys, const ShardsSeen& seen,
                                      std::uint32_t shards, UnixMillis now) {
  std::vector<Write> writes;
  WEIR_ASSIGN_OR_RETURN(SeenItems items, ReadItems(seen));
  if (items.donors.empty()) return writes;
  if (shards > kMaxInTransaction) {
    return Fail(Code::kFailedPrecondition,
                fmt::format("{}/{} is divided into {} shards and some are missing; a bucket of at "
                            "most {} shards can be completed",
                            seen.key.entity, seen.key.resource, shards, kMaxInTransaction));
  }
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    if (IsThere(seen, shard)) continue;
    DonorOf(shard, items.donors).heirs.push_back({shard, FindLeftover(items, shard)});
  }
  for (const Donor& donor : items.donors) {
    if (donor.heirs.empty() && donor.image.shards == shards) continue;
    Splitter(keys, donor, shards, now).AppendTo(writes);
  }
  if (!writes.empty()) writes.push_back(OwnerCheck(keys, seen.owner, seen.key.entity));
  return writes;
}

}  // namespace weir::dynamo
