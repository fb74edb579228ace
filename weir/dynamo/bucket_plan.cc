#include "weir/dynamo/bucket_plan.h"

#include <fmt/compile.h>

#include <algorithm>
#include <utility>

#include "weir/dynamo/bucket_lines.h"

namespace weir::dynamo {
namespace {

// How long an adjust is surely known by its token: far beyond any call's deadline. The latest few
// are known longer. An item that stays under 1 KB is written for one unit.
constexpr std::int64_t kTokenLifeMillis = 600'000;
constexpr std::size_t kKeptTokens = 6;
constexpr std::size_t kMostForgotten = 20;

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
    e().RequireSame("vu",
                    image_.valid_until ? std::optional(Of(*image_.valid_until)) : std::nullopt);
    RequireShards(e(), image_.shards);
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
    e().Require(fmt::format(FMT_COMPILE("(attribute_not_exists({0}) OR {0} > {1})"),
                            e().Name("ttl"), e().Of(Of(now_.value / 1000))));
    if (image_.valid_until) {
      e().Require("vu", ">", now_.value);
    } else {
      e().RequireAbsent("vu");
    }
    e().RequireAbsent("bypass");
    RequireShards(e(), image_.shards);
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
    for (const auto* field : {"tk", "cp", "ra", "rp", "tc"}) {
      e().Remove(LimitAttribute(name, field));
    }
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

}  // namespace

void RequireShards(Expression& expression, std::uint32_t shards) {
  if (shards > 1) {
    expression.Require("shard_count", "=", shards);
    return;
  }
  expression.Require(fmt::format(FMT_COMPILE("(attribute_not_exists({0}) OR {0} = {1})"),
                                 expression.Name("shard_count"),
                                 expression.Of(Of(std::int64_t{1}))));
}

milliseconds WaitFor(const BucketImage& image, const Charge& charge, UnixMillis now) {
  const BucketRequest request{charge, std::nullopt};
  std::vector<Line> lines = LinesOf(image, request, now);
  if (image.ExpiredAt(std::max(now, image.bucket.time))) Renew(lines);
  BucketPlan plan;
  Judge(request, lines, std::max(image.bucket.time - now, milliseconds(0)), plan);
  return plan.retry_after;
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
  plan.exclusive = !add;
  return plan;
}

}  // namespace weir::dynamo
