#include "weir/dynamo/bucket_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::dynamo {
namespace {

// An idle bucket's item goes after so many times the time that fills it (zae-limiter's
// bucket_ttl_multiplier).
constexpr double kFillTimes = 7;

// How long an adjust is surely known by its token: far beyond any call's deadline. The latest few
// are known longer. An item that stays under 1 KB is written for one unit.
constexpr std::int64_t kTokenLifeMillis = 600'000;
constexpr std::size_t kKeptTokens = 6;
constexpr std::size_t kMostForgotten = 20;

constexpr int kNowhere = -1;

/// One limit of the bucket on its way from the image to what the write leaves.
struct Line {
  std::string name;
  int old_index = kNowhere;  // in the image
  Quota quota;               // of the whole bucket, afterwards
  Quota share;               // of this shard, afterwards
  Meter before;              // as the image has it
  std::int64_t gain = 0;     // what came back since, whether or not there is room for it
  std::int64_t gain_up = 0;  // the same, rounded up
  Meter conformed;           // brought to now, and to the new quota
  std::int64_t amount = 0;   // asked: over 0 takes, under 0 gives back
};

// Beyond any capacity, and far from overflow.
constexpr std::int64_t kNoCeiling = INT64_MAX / 4;

void SetGain(Line& line, std::int64_t elapsed) {
  Meter open = line.before;
  open.quota.capacity = kNoCeiling;
  Refill(open, elapsed);
  line.gain = open.tokens - line.before.tokens;
  line.gain_up = line.gain + (open.remainder > 0 ? 1 : 0);
}

Line Known(const BucketImage& image, std::size_t index, const Quota& quota, std::int64_t elapsed) {
  Line line{.name = image.names[index],
            .old_index = static_cast<int>(index),
            .quota = quota,
            .share = ShareOf(quota, image.shards),
            .before = image.bucket.meters[index]};
  SetGain(line, elapsed);
  line.conformed = line.before;
  Refill(line.conformed, elapsed);
  if (line.conformed.quota != line.share) ChangeQuota(line.conformed, line.share);
  return line;
}

Line Joining(const Limit& limit, std::uint32_t shards) {
  Line line{.name = limit.name, .quota = limit.quota, .share = ShareOf(limit.quota, shards)};
  line.conformed = FullMeter(line.share);
  return line;
}

std::optional<std::size_t> IndexOf(const std::vector<std::string>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

// For a take: the target's limits, in its order. For an adjust: the limits that the bucket has.
std::vector<Line> LinesOf(const BucketImage& image, const BucketRequest& request, UnixMillis now) {
  const std::int64_t elapsed = std::max<std::int64_t>((now - image.bucket.time).count(), 0);
  const Target& target = *request.charge.target;
  std::vector<Line> lines;
  if (request.token) {
    for (std::size_t i = 0; i < image.names.size(); ++i) {
      lines.push_back(Known(image, i, image.stored[i], elapsed));
      const auto found = std::ranges::find(target.limits, image.names[i], &Limit::name);
      if (found == target.limits.end()) continue;
      lines.back().amount =
          request.charge.amounts[static_cast<std::size_t>(found - target.limits.begin())];
    }
    return lines;
  }
  for (std::size_t i = 0; i < target.limits.size(); ++i) {
    const Limit& limit = target.limits[i];
    const auto index = IndexOf(image.names, limit.name);
    lines.push_back(index ? Known(image, *index, limit.quota, elapsed)
                          : Joining(limit, image.shards));
    lines.back().amount = request.charge.amounts[i];
  }
  return lines;
}

// Full again, whatever it was: an item whose time is over counts as none.
void Renew(std::vector<Line>& lines) {
  for (Line& line : lines) {
    const std::int64_t consumed = line.conformed.consumed;
    line.conformed = FullMeter(line.share);
    line.conformed.consumed = consumed;
  }
}

void Judge(const BucketRequest& request, const std::vector<Line>& lines, milliseconds behind,
           BucketPlan& plan) {
  const BucketKey& key = request.charge.target->key;
  for (const Line& line : lines) {
    const milliseconds wait = RetryAfter(line.conformed, line.amount);
    const milliseconds told = wait > milliseconds(0) ? wait + behind : wait;
    plan.statuses.push_back({.entity = key.entity,
                             .resource = key.resource,
                             .limit = line.name,
                             .capacity = line.share.capacity,
                             .available = line.conformed.tokens,
                             .requested = line.amount,
                             .exceeded = told > milliseconds(0),
                             .retry_after = told});
    plan.retry_after = std::max(plan.retry_after, told);
  }
}

Status CheckDebt(const std::vector<Line>& lines, const BucketKey& key) {
  for (const Line& line : lines) {
    if (CanAdjust(line.conformed, line.amount)) continue;
    return Fail(Code::kOutOfRange,
                fmt::format("{}/{}: debt would pass {} tokens; nothing is adjusted", key.entity,
                            key.resource, FormatTokens(kMaxDebt)));
  }
  return {};
}

std::int64_t GivenBack(const Line& line) { return std::max<std::int64_t>(-line.amount, 0); }
std::int64_t Taken(const Line& line) { return std::max<std::int64_t>(line.amount, 0); }

// True where refilling now, and giving back what is given back, would stop at the capacity.
bool Overflows(const Line& line) {
  return line.before.tokens + line.gain_up + GivenBack(line) > line.before.quota.capacity;
}

// Seconds since 1970 at which every limit is full again and has been for `fills` times as long as
// it takes to fill it: nothing is lost then if the item goes, debt neither.
std::int64_t FullSince(UnixMillis now, const std::vector<Line>& lines, double fills) {
  constexpr double kLongest = 1e14;
  double longest = 0;
  for (const Line& line : lines) {
    Meter left = line.conformed;
    left.tokens -= Taken(line);
    const auto repaid = static_cast<double>(RetryAfter(left, left.quota.capacity).count());
    const double fill = static_cast<double>(line.quota.capacity) /
                        static_cast<double>(line.quota.amount) *
                        static_cast<double>(line.quota.period);
    longest = std::max(longest, repaid + fill * fills);
  }
  return (now.value + static_cast<std::int64_t>(std::min(longest, kLongest))) / 1000 + 1;
}

std::int64_t TtlAt(UnixMillis now, const std::vector<Line>& lines) {
  return FullSince(now, lines, kFillTimes);
}

// The text of one write, and what it may rely on.
class Planner {
 public:
  Planner(const Keys& keys, const BucketImage& image, const BucketRequest& request, UnixMillis now)
      : image_(image), request_(request), now_(std::max(now, image.bucket.time)) {
    write_.key = keys.Bucket(image.key);
    write_.want_new = true;
  }

  /// rf stays: taking now and refilling later come to the same, because no clamp is pending.
  Write Add(const std::vector<Line>& lines) {
    RequireLive();
    if (image_.valid_until) RequireValidUntil();
    for (const Line& line : lines) {
      if (line.amount != 0) AddLine(line);
    }
    // Debt must not be forgotten with the item.
    const bool too_early = image_.ttl_seconds && *image_.ttl_seconds < FullSince(now_, lines, 1);
    if (request_.token && too_early) MoveTtl(TtlAt(now_, lines));
    Spend(0);
    return Finish();
  }

  /// rf moves to now, under the lock of the rf that was seen.
  Write Move(const std::vector<Line>& lines, bool renewed) {
    e().RequireExists("PK").Require("rf", "=", image_.bucket.time.value);
    RequireSame("vu", image_.valid_until);
    RequireShards();
    if (!renewed) e().RequireAbsent("disabled");
    e().Set("rf", Of(now_.value));
    if (image_.valid_until) e().Remove("vu");
    Bucket left{.time = now_, .meters = {}};
    std::vector<std::string> names;
    for (const Line& line : lines) {
      names.push_back(line.name);
      left.meters.push_back(MoveLine(line, renewed));
    }
    for (const std::string& name : image_.names) {
      if (!IndexOf(names, name)) DropLimit(name);
    }
    e().Set(kRemainders, Of(FormatRemainders(image_.key.shard, names, left)));
    if (image_.ttl_seconds) MoveTtl(TtlAt(now_, lines));
    ForgetAdjusts();
    Spend((now_ - image_.bucket.time).count());
    return Finish();
  }

 private:
  Expression& e() { return write_.expression; }

  Write Finish() {
    if (request_.token) {
      const std::string name = AdjustAttribute(*request_.token);
      e().RequireAbsent(name).Set(name, Of(now_.value));
    }
    return std::move(write_);
  }

  void RequireLive() {
    e().RequireExists("PK").RequireAbsent("disabled");
    e().Require(fmt::format("(attribute_not_exists({0}) OR {0} > {1})", e().Name("ttl"),
                            e().Of(Of(now_.value / 1000))));
    if (!image_.valid_until) e().RequireAbsent("vu");
    e().RequireAbsent("bypass");
    RequireShards();
  }

  void RequireValidUntil() { e().Require("vu", ">", now_.value); }

  void RequireShards() {
    if (image_.shards > 1) {
      e().Require("shard_count", "=", image_.shards);
    } else {
      e().Require(fmt::format("(attribute_not_exists({0}) OR {0} = {1})", e().Name("shard_count"),
                              e().Of(Of(std::int64_t{1}))));
    }
  }

  void RequireSame(std::string_view attribute, const std::optional<std::int64_t>& seen) {
    if (seen) {
      e().Require(attribute, "=", *seen);
    } else {
      e().RequireAbsent(attribute);
    }
  }

  void AddLine(const Line& line) {
    const std::string tokens = LimitAttribute(line.name, "tk");
    const std::int64_t capacity = line.before.quota.capacity;
    if (request_.token) {
      if (line.amount > 0) e().Require(tokens, ">=", Taken(line) - kMaxDebt);
    } else {
      e().Require(tokens, ">=", line.amount);
    }
    RequireQuota(line);
    e().Require(tokens, "<=", capacity - line.gain_up - GivenBack(line));
    e().Add(tokens, -line.amount);
    Count(line);
  }

  void Count(const Line& line) {
    if (line.amount != 0) e().Add(LimitAttribute(line.name, "tc"), line.amount);
  }

  // What the meter is afterwards, as far as its remainder goes.
  Meter MoveLine(const Line& line, bool renewed) {
    if (line.old_index == kNowhere) return JoinLimit(line);
    const Meter full = FullMeter(line.share);
    RepairQuota(line);
    const std::string tokens = LimitAttribute(line.name, "tk");
    if (renewed || Overflows(line)) {
      if (!renewed) {
        e().Require(tokens, ">=", line.before.quota.capacity - line.gain - GivenBack(line));
      }
      e().Set(tokens, Of(line.share.capacity - Taken(line)));
      Count(line);
      return full;
    }
    RefillLine(line, tokens);
    Count(line);
    return line.conformed;
  }

  void RefillLine(const Line& line, std::string_view tokens) {
    const std::int64_t change = line.conformed.tokens - line.before.tokens;  // refill and new quota
    e().Require(tokens, "<=", line.before.quota.capacity - line.gain_up - GivenBack(line));
    if (line.amount > 0) {
      const std::int64_t floor = request_.token ? -kMaxDebt : 0;
      e().Require(tokens, ">=", line.amount - change + floor);
    }
    if (change != line.amount) e().Add(tokens, change - line.amount);
  }

  void RequireQuota(const Line& line) {
    const Quota& old = image_.stored[static_cast<std::size_t>(line.old_index)];
    e().Require(LimitAttribute(line.name, "cp"), "=", old.capacity);
    e().Require(LimitAttribute(line.name, "ra"), "=", old.amount);
    e().Require(LimitAttribute(line.name, "rp"), "=", old.period);
  }

  // The old parameters are conditions: rf alone does not tell two writes of one millisecond apart.
  void RepairQuota(const Line& line) {
    if (line.quota == image_.stored[static_cast<std::size_t>(line.old_index)]) return;
    RequireQuota(line);
    SetQuota(line);
  }

  Meter JoinLimit(const Line& line) {
    e().RequireAbsent(LimitAttribute(line.name, "cp"));
    SetQuota(line);
    e().Set(LimitAttribute(line.name, "tk"), Of(line.share.capacity - Taken(line)));
    e().Set(LimitAttribute(line.name, "tc"), Of(line.amount));
    return FullMeter(line.share);
  }

  void SetQuota(const Line& line) {
    e().Set(LimitAttribute(line.name, "cp"), Of(line.quota.capacity));
    e().Set(LimitAttribute(line.name, "ra"), Of(line.quota.amount));
    e().Set(LimitAttribute(line.name, "rp"), Of(line.quota.period));
  }

  void DropLimit(std::string_view name) {
    for (const auto* field : {"tk", "cp", "ra", "rp", "tc"})
      e().Remove(LimitAttribute(name, field));
  }

  // As it was seen: two writes must not shorten what the other one needs.
  void MoveTtl(std::int64_t to) {
    e().Require("ttl", "=", *image_.ttl_seconds);
    e().Set("ttl", Of(to));
  }

  // The oldest first, and never the latest few.
  void ForgetAdjusts() {
    std::vector<std::pair<std::int64_t, std::string>> known;
    known.reserve(image_.adjusts.size());
    for (const auto& [name, at] : image_.adjusts) known.emplace_back(at, name);
    std::ranges::sort(known);
    const std::size_t spare = known.size() - std::min(known.size(), kKeptTokens);
    for (std::size_t i = 0; i < std::min(spare, kMostForgotten); ++i) {
      if (now_.value - known[i].first >= kTokenLifeMillis) e().Remove(known[i].second);
    }
  }

  // The internal limit of writes: advisory, so never a condition.
  void Spend(std::int64_t elapsed) {
    if (!image_.wcu) return;
    Meter meter = *image_.wcu;
    meter.quota = WriteQuota();
    meter.remainder_period = meter.quota.period;
    const std::int64_t before = std::min(meter.tokens, meter.quota.capacity);
    meter.tokens = before;
    Refill(meter, elapsed);
    e().Add(LimitAttribute(kWriteLimit, "tk"), meter.tokens - before - kWriteCost);
    e().Add(LimitAttribute(kWriteLimit, "tc"), kWriteCost);
  }

  const BucketImage& image_;
  const BucketRequest& request_;
  UnixMillis now_;
  Write write_;
};

// A new quota, a limit that joins or leaves: the parameters are written too.
bool Conforms(const BucketImage& image, const std::vector<Line>& lines) {
  if (lines.size() != image.names.size()) return false;
  return std::ranges::all_of(lines, [&](const Line& line) {
    return line.old_index != kNowhere &&
           image.stored[static_cast<std::size_t>(line.old_index)] == line.quota;
  });
}

bool MayAdd(const BucketImage& image, const std::vector<Line>& lines, UnixMillis now,
            bool is_adjust) {
  if (image.valid_until && *image.valid_until <= now.value) return false;
  return std::ranges::all_of(lines, [&](const Line& line) {
    if (line.amount == 0) return true;
    return !Overflows(line) && (is_adjust || line.before.tokens >= line.amount);
  });
}

Item NewItem(const Keys& keys, const Owner& owner, const BucketRequest& request, UnixMillis now) {
  const BucketKey& key = request.charge.target->key;
  Item item = keys.BucketIndexes(key);
  item.emplace("entity_id", Of(key.entity));
  item.emplace("resource", Of(key.resource));
  item.emplace("rf", Of(now.value));
  item.emplace("shard_count", Of(std::int64_t{1}));
  item.emplace("cascade", Of(owner.cascade));
  if (owner.parent) item.emplace("parent_id", Of(*owner.parent));
  if (owner.exists && owner.generation > 0) item.emplace("pgen", Of(owner.generation));
  if (owner.incarnation) item.emplace("pinc", Of(*owner.incarnation));
  if (request.token) item.emplace(AdjustAttribute(*request.token), Of(now.value));
  return item;
}

void AddMeter(Item& item, std::string_view name, const Quota& quota, std::int64_t used) {
  item.emplace(LimitAttribute(name, "tk"), Of(quota.capacity - std::max<std::int64_t>(used, 0)));
  item.emplace(LimitAttribute(name, "cp"), Of(quota.capacity));
  item.emplace(LimitAttribute(name, "ra"), Of(quota.amount));
  item.emplace(LimitAttribute(name, "rp"), Of(quota.period));
  item.emplace(LimitAttribute(name, "tc"), Of(used));
}

Write OwnerCheck(const Keys& keys, const Owner& owner, std::string_view entity) {
  Write check{.kind = Write::Kind::kCheck, .key = keys.Entity(entity)};
  Expression& e = check.expression;
  if (!owner.exists) {
    e.RequireAbsent("PK");
    return check;
  }
  e.RequireExists("PK");
  const auto same = [&](std::string_view name, const std::optional<Value>& value) {
    if (value) {
      e.RequireEqual(name, *value);
    } else {
      e.RequireAbsent(name);
    }
  };
  same("pgen", owner.generation > 0 ? std::optional(Of(owner.generation)) : std::nullopt);
  same("pinc", owner.incarnation ? std::optional(Of(*owner.incarnation)) : std::nullopt);
  if (!owner.incarnation && owner.created_at) e.RequireEqual("created_at", Of(*owner.created_at));
  return check;
}

}  // namespace

Owner ReadOwner(const std::optional<Item>& meta) {
  if (!meta) return {};
  Owner owner{.exists = true,
              .cascade = GetFlag(*meta, "cascade").value_or(false),
              .generation = GetNumber(*meta, "pgen").value_or(0)};
  if (const auto* parent = GetText(*meta, "parent_id")) owner.parent = *parent;
  if (const auto* pinc = GetText(*meta, "pinc")) owner.incarnation = *pinc;
  if (const auto* created = GetText(*meta, "created_at")) owner.created_at = *created;
  return owner;
}

Result<BucketPlan> PlanWrite(const Keys& keys, const BucketImage& image,
                             const BucketRequest& request, UnixMillis now) {
  BucketPlan plan;
  if (request.token && image.HasCounted(*request.token)) {
    plan.counted = true;
    return plan;
  }
  std::vector<Line> lines = LinesOf(image, request, now);
  const bool renewed = image.ExpiredAt(std::max(now, image.bucket.time));
  if (renewed) Renew(lines);
  if (request.token) {
    WEIR_RETURN_IF_ERROR(CheckDebt(lines, image.key));
  } else {
    const milliseconds behind = std::max(image.bucket.time - now, milliseconds(0));
    Judge(request, lines, behind, plan);
    if (plan.retry_after > milliseconds(0)) return plan;
  }
  Planner planner(keys, image, request, now);
  const bool add =
      !renewed && Conforms(image, lines) &&
      MayAdd(image, lines, std::max(now, image.bucket.time), request.token.has_value());
  plan.writes.push_back(add ? planner.Add(lines) : planner.Move(lines, renewed));
  return plan;
}

Result<BucketPlan> PlanCreate(const Keys& keys, const Owner& owner, const BucketRequest& request,
                              UnixMillis now) {
  BucketPlan plan;
  const Target& target = *request.charge.target;
  std::vector<Line> lines;
  Write put{.kind = Write::Kind::kPut, .item = NewItem(keys, owner, request, now)};
  for (std::size_t i = 0; i < target.limits.size(); ++i) {
    lines.push_back(Joining(target.limits[i], 1));
    lines.back().amount = request.charge.amounts[i];
    AddMeter(put.item, target.limits[i].name, target.limits[i].quota, request.charge.amounts[i]);
  }
  if (request.token) {
    WEIR_RETURN_IF_ERROR(CheckDebt(lines, target.key));
  } else {
    Judge(request, lines, milliseconds(0), plan);
    if (plan.retry_after > milliseconds(0)) return plan;
  }
  AddMeter(put.item, kWriteLimit, WriteQuota(), kWriteCost);
  put.item.emplace("ttl", Of(TtlAt(now, lines)));
  put.expression.RequireAbsent("PK");
  plan.writes.push_back(std::move(put));
  plan.writes.push_back(OwnerCheck(keys, owner, target.key.entity));
  return plan;
}

}  // namespace weir::dynamo
