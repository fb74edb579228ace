#include "weir/dynamo/bucket_lines.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::dynamo {
namespace {

// An idle bucket's item goes after so many times the time that fills it (zae-limiter's
// bucket_ttl_multiplier).
constexpr double kFillTimes = 7;

Line Known(const BucketImage& image, std::size_t index, const Quota& quota, std::int64_t elapsed) {
  Line line{.name = image.names[index],
            .old_index = static_cast<int>(index),
            .quota = quota,
            .share = ShareOf(quota, image.shards, image.key.shard),
            .before = image.bucket.meters[index]};
  const Earned earned = EarnedIn(line.before, elapsed);
  line.gain = earned.whole;
  line.gain_up = earned.rounded_up;
  line.conformed = line.before;
  Refill(line.conformed, elapsed);
  if (line.conformed.quota != line.share) ChangeQuota(line.conformed, line.share);
  return line;
}

Line Joining(const Limit& limit, std::uint32_t shards, std::uint32_t shard) {
  Line line{.name = limit.name, .quota = limit.quota, .share = ShareOf(limit.quota, shards, shard)};
  line.conformed = FullMeter(line.share);
  return line;
}

}  // namespace

std::optional<std::size_t> IndexOf(const std::vector<std::string>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

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
                          : Joining(limit, image.shards, image.key.shard));
    lines.back().amount = request.charge.amounts[i];
  }
  return lines;
}

std::vector<Line> NewLines(const BucketRequest& request) {
  const std::vector<Limit>& limits = request.charge.target->limits;
  std::vector<Line> lines;
  lines.reserve(limits.size());
  for (std::size_t i = 0; i < limits.size(); ++i) {
    lines.push_back(Joining(limits[i], 1, 0));
    lines.back().amount = request.charge.amounts[i];
  }
  return lines;
}

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

bool Overflows(const Line& line) {
  return line.before.tokens + line.gain_up + GivenBack(line) > line.before.quota.capacity;
}

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

}  // namespace weir::dynamo
