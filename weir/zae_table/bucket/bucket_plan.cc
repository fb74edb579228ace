#include "weir/zae_table/bucket/bucket_plan.h"

#include <fmt/compile.h>

#include <algorithm>
#include <utility>

#include "weir/zae_table/bucket/bucket_lifetime.h"
#include "weir/zae_table/bucket/limit_updates.h"

namespace weir::dynamo {
namespace {

// Earlier versions stored the id of each adjust in the item, to recognize a repetition within ten
// minutes. Writes that move rf remove older ids, at most kMaxForgotten in one write.
constexpr std::int64_t kAdjustIdLifeMillis = 600'000;
constexpr std::size_t kMaxForgotten = 40;

// Composes the update and the conditions of one write, by one call of Add or Move. Each `line` is
// the update of one limit.
class Planner {
 public:
  Planner(const Keys& keys, const BucketImage& image, const BucketRequest& request, UnixMillis now)
      : image_(image),
        request_(request),
        now_(std::max(now, image.bucket.time)),
        is_uncounted_(image.bucket.time > now + kUncountedAhead) {
    write_.key = keys.Bucket(image.key);
    write_.want_new = true;
  }

  /// Does not move rf. Taking now and refilling later has the same effect as refilling first,
  /// because the conditions ensure that the capacity cuts off no refill now.
  Write Add(const std::vector<LimitUpdate>& lines) {
    RequireLive();
    e().Require("rf", ">=", image_.bucket.time.value);  // another process may have set it back
    RelyOn(LifetimeOfAdd(image_, lines, now_));
    for (const LimitUpdate& line : lines) {
      if (!line.amounts.is_nothing() && !line.absent) AddLine(line);
    }
    Spend(false);
    return Finish();
  }

  /// Moves rf to now. The condition that rf is that of the image excludes other writes of this
  /// form.
  Write Move(const std::vector<LimitUpdate>& lines) {
    e().RequireExists("PK").Require("rf", "=", image_.bucket.time.value);
    e().RequireSame("vu",
                    image_.valid_until ? std::optional(Of(*image_.valid_until)) : std::nullopt);
    RequireShards(e(), image_);
    e().RequireAbsent("disabled").Set("rf", Of(now_.value));
    const std::optional<EvictedLimits> gone = EvictedAfter(image_, lines, now_);
    RelyOn(image_.ttl_seconds ? std::optional(Lifetime{TtlAt(now_, lines, gone), true})
                              : std::nullopt);
    if (image_.valid_until) e().Remove("vu");
    Bucket left{.time = now_, .meters = {}};
    std::vector<std::string> names;
    std::vector<std::string> extras;
    for (const LimitUpdate& line : lines) {
      if (line.absent || RemoveIfNotNeeded(line)) continue;
      names.push_back(line.name);
      if (line.extra) extras.push_back(line.name);
      left.meters.push_back(MoveLine(line));
    }
    e().Set(kRemainders, Of(FormatRemainders(image_.key.shard, names, left)));
    NoteExtras(std::move(extras));
    NoteGone(lines, gone);
    ForgetAdjusts();
    if (now_ > image_.bucket.time) CleanUp();
    Spend(true);
    return Finish();
  }

 private:
  Expression& e() { return write_.expression; }

  Write Finish() {
    if (request_.needs_image) RequireUnchanged();
    if (request_.guard != nullptr) AddFence(e(), *request_.guard);
    return std::move(write_);
  }

  // The item exists, is not disabled or bypassed, is valid at now, and is divided as in the image.
  void RequireLive() {
    e().RequireExists("PK").RequireAbsent("disabled");
    if (image_.valid_until) {
      e().Require("vu", ">", now_.value);
    } else {
      e().RequireAbsent("vu");
    }
    e().RequireAbsent("bypass");
    RequireShards(e(), image_);
  }

  // The balances are those of the image. Equal balances alone would not show this: a return and a
  // take of the same amount may have come in between, and the capacity would have cut off a part of
  // the return if the tokens of this write had been given back before it.
  void RequireUnchanged() {
    e().Require("rf", "=", image_.bucket.time.value);
    e().RequireSame(LimitAttribute(kWriteLimit, "tc"),
                    image_.written_units ? std::optional(Of(*image_.written_units)) : std::nullopt);
  }

  // The used tokens must be repaid before DynamoDB may delete the item. The write relies on the
  // stored ttl, which must not be earlier than `lifetime`, or sets a new one. A write that sets a
  // new ttl requires that the stored ttl is that of the image, so that it does not shorten the time
  // that another write needs.
  void RelyOn(std::optional<Lifetime> lifetime) {
    lifetime_ = lifetime;
    if (!lifetime) {
      e().RequireAbsent("ttl");
    } else if (lifetime->moves) {
      e().Require("ttl", "=", *image_.ttl_seconds).Set("ttl", Of(lifetime->ttl_seconds));
    } else {
      e().Require(fmt::format(FMT_COMPILE("(attribute_not_exists({0}) OR {0} >= {1})"),
                              e().Name("ttl"), e().Of(Of(lifetime->ttl_seconds))));
    }
  }

  // Requires that the balance suffices for the takes, after the returns and before the debits, and
  // that the debt which the write leaves is repaid when the item may be deleted. `change`: the
  // millitokens that the write adds to the balance besides the amounts.
  void RequireBalance(const LimitUpdate& line, std::string_view tokens, std::int64_t change) {
    const auto& [takes, debits, returns] = line.amounts;
    std::int64_t least = lifetime_ ? LeastFullBy(lifetime_->ttl_seconds, line, now_) : -kMaxDebt;
    if (takes > 0 && debits > 0) {
      e().Require(tokens, ">=", takes - returns - change + line.least);
    } else if (takes > 0) {
      least = std::max(least, line.least);
    }
    e().Require(tokens, ">=", line.amounts.net() - change + least);
  }

  // Returns true, and removes the limit from the item, if it is an extra that is full and not
  // charged, or one whose space is needed.
  bool RemoveIfNotNeeded(const LimitUpdate& line) {
    const bool is_idle = line.extra && line.amounts.is_nothing() && line.old_index != kNotInImage;
    const bool is_full = line.conformed.tokens >= line.conformed.quota.capacity;
    if (!line.evicted && !(is_idle && is_full)) return false;
    const std::string tokens = LimitAttribute(line.name, "tk");
    // Under other parameters, which another process may have stored without a change of rf, the
    // balance of a full limit is that of one with used tokens.
    RequireQuota(line);
    if (line.evicted) {
      e().Require(tokens, ">=", line.before.tokens);
    } else {
      e().Require(tokens, ">=", line.before.quota.capacity - line.gain);
    }
    for (const auto* field : {"tk", "cp", "ra", "rp", "tc"}) {
      e().Remove(LimitAttribute(line.name, field));
    }
    return true;
  }

  // Updates w_extra, if the names of the extras change.
  void NoteExtras(std::vector<std::string> names) {
    const std::optional<std::string> text = FormatExtras(std::move(names));
    if (text == image_.extras) return;
    e().RequireSame(kExtras, image_.extras ? std::optional(Of(*image_.extras)) : std::nullopt);
    if (text) {
      e().Set(kExtras, Of(*text));
    } else {
      e().Remove(kExtras);
    }
  }

  // Updates w_gone, if it changes. A limit that joins begins with a balance that depends on w_gone,
  // so the write then requires that w_gone is as in the image. A division that has not seen the
  // limit fails, since w_joins has changed: its heirs would have the limit unused.
  void NoteGone(const std::vector<LimitUpdate>& lines, const std::optional<EvictedLimits>& gone) {
    const bool joins = std::ranges::any_of(lines, [](const LimitUpdate& line) {
      return line.old_index == kNotInImage && !line.absent;
    });
    if (joins) e().Add(kJoins, 1);
    if (!joins && gone == image_.evicted) return;
    e().RequireSame(kGone,
                    image_.stored_gone ? std::optional(Of(*image_.stored_gone)) : std::nullopt);
    if (gone == image_.evicted) return;
    if (gone) {
      e().Set(kGone, Of(FormatGone(*gone)));
    } else {
      e().Remove(kGone);
    }
  }

  // The update of one limit in the form "add".
  void AddLine(const LimitUpdate& line) {
    const std::string tokens = LimitAttribute(line.name, "tk");
    const std::int64_t capacity = line.before.quota.capacity;
    if (line.amounts.used() > 0) RequireBalance(line, tokens, 0);
    RequireQuota(line);
    e().Require(tokens, "<=", capacity - line.gain_up - line.amounts.returns);
    e().Add(tokens, -line.amounts.net());
    Count(line);
  }

  void Count(const LimitUpdate& line) {
    const std::int64_t net = line.amounts.net();
    if (net != 0) e().Add(LimitAttribute(line.name, "tc"), net);
  }

  // The update of one limit in the form "refill" or "full". Returns the meter after the write, of
  // which only the remainder is exact.
  Meter MoveLine(const LimitUpdate& line) {
    if (line.old_index == kNotInImage) return JoinLimit(line);
    RepairQuota(line);
    const std::string tokens = LimitAttribute(line.name, "tk");
    if (Overflows(line)) {
      e().Require(tokens, ">=", line.before.quota.capacity - line.gain - line.amounts.returns);
      e().Set(tokens, Of(line.share.capacity - line.amounts.used()));
      Count(line);
      return FullMeter(line.share);
    }
    RefillLine(line, tokens);
    Count(line);
    return line.conformed;
  }

  // The form "refill".
  void RefillLine(const LimitUpdate& line, std::string_view tokens) {
    const std::int64_t change = line.conformed.tokens - line.before.tokens;  // refill and new quota
    const std::int64_t net = line.amounts.net();
    e().Require(tokens, "<=", line.before.quota.capacity - line.gain_up - line.amounts.returns);
    if (line.amounts.used() > 0 || lifetime_) RequireBalance(line, tokens, change);
    if (change != net) e().Add(tokens, change - net);
  }

  void RequireQuota(const LimitUpdate& line) {
    const Quota& old = image_.stored[static_cast<std::size_t>(line.old_index)];
    e().Require(LimitAttribute(line.name, "cp"), "=", old.capacity);
    e().Require(LimitAttribute(line.name, "ra"), "=", old.amount);
    e().Require(LimitAttribute(line.name, "rp"), "=", old.period);
  }

  // Requires the old parameters: two writes in the same millisecond may store the same rf and
  // different parameters.
  void RepairQuota(const LimitUpdate& line) {
    if (line.quota == image_.stored[static_cast<std::size_t>(line.old_index)]) return;
    RequireQuota(line);
    SetQuota(line);
  }

  // Requires that the limit has no balance or no capacity: zae-limiter's parameter sync writes the
  // parameters of a new limit before it has a balance.
  Meter JoinLimit(const LimitUpdate& line) {
    const std::string tokens = LimitAttribute(line.name, "tk");
    e().Require(fmt::format(FMT_COMPILE("(attribute_not_exists({}) OR attribute_not_exists({}))"),
                            e().Name(LimitAttribute(line.name, "cp")), e().Name(tokens)));
    SetQuota(line);
    e().Set(tokens, Of(line.before.tokens - line.amounts.used()));
    e().Set(LimitAttribute(line.name, "tc"), Of(line.amounts.net()));
    return line.before;
  }

  void SetQuota(const LimitUpdate& line) {
    e().Set(LimitAttribute(line.name, "cp"), Of(line.quota.capacity));
    e().Set(LimitAttribute(line.name, "ra"), Of(line.quota.amount));
    e().Set(LimitAttribute(line.name, "rp"), Of(line.quota.period));
  }

  // Must not be called if the write does not change rf because rf is ahead of now: then other
  // processes may be claiming an empty slot under the condition of this rf, and the mark of this rf
  // is valid.
  void CleanUp() {
    if (image_.stored_ahead) e().Remove(kAhead);
    if (request_.guard == nullptr) return;
    RemoveExpiredSlots(e(), image_.slots, request_.guard->slot, now_);
  }

  void ForgetAdjusts() {
    std::size_t removed = 0;
    for (const auto& [name, at] : image_.adjusts) {
      if (now_.value - at < kAdjustIdLifeMillis || removed == kMaxForgotten) continue;
      e().Remove(name);
      ++removed;
    }
  }

  // Debits `wcu`, the internal limit of writes. It is advisory, so it is never a condition.
  void Spend(bool moves) {
    if (!image_.wcu) return;
    const std::int64_t units = image_.write_units * (1 + request_.failed_writes);
    const std::int64_t elapsed = (now_ - image_.bucket.time).count();
    const WriteDebit debit = DebitWrite(*image_.wcu, elapsed, moves, units);
    if (debit.tokens != 0 && !is_uncounted_)
      e().Add(LimitAttribute(kWriteLimit, "tk"), debit.tokens);
    e().Add(LimitAttribute(kWriteLimit, "tc"), debit.consumed);
  }

  const BucketImage& image_;
  const BucketRequest& request_;
  UnixMillis now_;
  bool is_uncounted_;  // the write does not count as a load (kUncountedAhead)
  std::optional<Lifetime> lifetime_;
  Write write_;
};

// Returns true if the form "add" is possible: the stored balance suffices for every limit without
// the refill since rf, and no refill is about to be cut off at the capacity. With `expects_refill`,
// the balance in the image need not suffice.
bool MayAdd(const BucketImage& image, const BucketRequest& request,
            const std::vector<LimitUpdate>& lines, UnixMillis now) {
  if (image.valid_until && *image.valid_until <= now.value) return false;
  const std::optional<Lifetime> lifetime = LifetimeOfAdd(image, lines, now);
  return std::ranges::all_of(lines, [&](const LimitUpdate& line) {
    if (line.amounts.is_nothing() || line.absent) return true;
    if (Overflows(line)) return false;
    const auto& [takes, debits, returns] = line.amounts;
    if (request.expects_refill) return true;
    const std::int64_t left = line.before.tokens + returns - takes;
    if (lifetime && line.amounts.used() > 0 &&
        left - debits < LeastFullBy(lifetime->ttl_seconds, line, now)) {
      return false;
    }
    return takes == 0 || left >= line.least;
  });
}

}  // namespace

void RequireShards(Expression& expression, const BucketImage& image) {
  if (image.stored_shards && *image.stored_shards != 1) {
    expression.Require("shard_count", "=", *image.stored_shards);
    return;
  }
  expression.Require(fmt::format(FMT_COMPILE("(attribute_not_exists({0}) OR {0} = {1})"),
                                 expression.Name("shard_count"),
                                 expression.Of(Of(std::int64_t{1}))));
}

Result<BucketPlan> PlanWrite(const Keys& keys, const BucketImage& image,
                             const BucketRequest& request, UnixMillis now) {
  const UnixMillis at = std::max(now, image.bucket.time);
  std::vector<LimitUpdate> lines = LimitUpdatesOf(image, request, at);
  WEIR_RETURN_IF_ERROR(CheckDebt(lines, image.key));
  WEIR_RETURN_IF_ERROR(EvictExtras(lines, request));
  BucketPlan plan{.conforms = Conforms(image, lines)};
  Planner planner(keys, image, request, now);
  const bool add = plan.conforms && !request.is_nothing() && MayAdd(image, request, lines, at);
  plan.writes.push_back(add ? planner.Add(lines) : planner.Move(lines));
  plan.moves_rf = !add;
  return plan;
}

Write PlanProbe(const Keys& keys, const BucketKey& key, const WriteFence::Guard& guard) {
  Write write{.key = keys.Bucket(key), .item = {}, .expression = {}, .want_new = true};
  write.expression.RequireExists("PK");
  AddFence(write.expression, guard);
  return write;
}

Write PlanAdjustRecord(const Keys& keys, const BucketKey& key, AdjustId adjust_id, UnixMillis now) {
  TableKey record = keys.Bucket(key);
  record.sk = fmt::format("#WEIR#TOKEN#{:016x}{:016x}", adjust_id.high, adjust_id.low);
  Write write{.kind = Write::Kind::kPut, .key = {}, .item = ToItem(record), .expression = {}};
  write.item.emplace("ttl", Of((now + kAdjustRecordLife).value / 1000 + 1));
  write.expression.RequireAbsent("PK");
  return write;
}

}  // namespace weir::dynamo
