#include "weir/zae_table/bucket/bucket_image.h"

#include <fmt/compile.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "weir/base/bucket_time.h"
#include "weir/base/integer_text.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {
namespace {

constexpr std::string_view kAdjustPrefix = "w_t_";

struct Feature {
  std::string_view field;
  std::string_view what;
};
// Features of one limit: attribute b_<limit>_<field>.
constexpr std::array kLimitFeatures = {
    Feature{"sched", "a schedule"},    Feature{"rsched", "a calendar quota"},
    Feature{"rsa", "a session quota"}, Feature{"ws", "a session quota"},
    Feature{"soft", "a soft limit"},   Feature{"tu", "a topped-up quota"},
};
// Features of the whole item: attribute <field>.
constexpr std::array kItemFeatures = {
    Feature{"sched", "a schedule"},
    Feature{"rsched", "a calendar quota"},
    Feature{"bypass", "a bypass"},
};

std::string Where(const BucketKey& key) {
  return fmt::format("bucket {}/{} shard {}", key.entity, key.resource, key.shard);
}

Status CheckFeatures(const Item& item, const BucketImage& image) {
  const auto refuse = [&](const std::string& what) {
    return Fail(Code::kFailedPrecondition,
                fmt::format("{} uses {}, which weir does not implement; it is left as it is",
                            Where(image.key), what));
  };
  if (item.contains("disabled")) {
    return Fail(Code::kFailedPrecondition, fmt::format("{} is disabled", Where(image.key)));
  }
  for (const auto& [field, what] : kItemFeatures) {
    if (item.contains(field)) return refuse(std::string(what));
  }
  for (const std::string& name : image.names) {
    for (const auto& [field, what] : kLimitFeatures) {
      // "-" means that the schedule of the item does not apply to this limit.
      const std::string attribute = LimitAttribute(name, field);
      const std::string* text = GetText(item, attribute);
      if (text != nullptr && *text == "-") continue;
      if (item.contains(attribute)) return refuse(fmt::format("{} (limit {})", what, name));
    }
  }
  return {};
}

/// Reads the numbers of an item. A write that was planned as if an attribute of another type was
/// absent would fail each time, so the first such attribute is noted.
class NumberReader {
 public:
  explicit NumberReader(const Item& item) : item_(item) {}

  std::optional<std::int64_t> Read(std::string_view attribute) {
    const auto number = GetNumber(item_, attribute);
    if (!number && damaged_.empty() && item_.contains(attribute)) damaged_ = attribute;
    return number;
  }
  /// Like Read, for a sum that writes only add to: it may exceed 64 bits, and is nothing then.
  std::optional<std::int64_t> ReadSum(std::string_view attribute) {
    const auto found = item_.find(attribute);
    const bool is_number =
        found != item_.end() && std::holds_alternative<Number>(found->second.held);
    return is_number ? GetNumber(item_, attribute) : Read(attribute);
  }
  /// Returns the name of the first attribute that is not a whole number; empty if there is none.
  const std::string& damaged() const { return damaged_; }

 private:
  const Item& item_;
  std::string damaged_;
};

std::optional<Meter> ReadMeter(NumberReader& numbers, std::string_view name) {
  const auto field = [&](std::string_view of) { return numbers.Read(LimitAttribute(name, of)); };
  const auto tokens = field("tk");
  const auto capacity = field("cp");
  if (!tokens || !capacity) return std::nullopt;
  const auto consumed = numbers.ReadSum(LimitAttribute(name, "tc"));
  Meter meter{.quota = {*capacity, field("ra").value_or(0), field("rp").value_or(0)},
              .tokens = *tokens,
              .consumed = consumed.value_or(0)};
  meter.remainder_period = std::max<std::int64_t>(meter.quota.period, 1);
  return meter;
}

// Returns <name> of an attribute b_<name>_tk; nothing for other attributes.
std::optional<std::string_view> LimitOf(std::string_view attribute) {
  if (!attribute.starts_with("b_") || !attribute.ends_with("_tk")) return std::nullopt;
  attribute.remove_prefix(2);
  if (attribute.size() <= 3) return std::nullopt;
  attribute.remove_suffix(3);
  return attribute;
}

bool IsSound(const Quota& quota) { return Validate(quota).has_value(); }

// Reads all limits that have a balance and a capacity; zae-limiter's parameter sync writes the
// parameters of a new limit first. A damaged quota of `wcu` is replaced by the default, and its
// balance by one with which sums do not overflow; with attributes of another type it is not used.
void ReadLimits(const Item& item, NumberReader& numbers, BucketImage& image) {
  for (const auto& [attribute, value] : item) {
    const auto name = LimitOf(attribute);
    if (!name) continue;
    const bool is_wcu = *name == kWriteLimit;
    NumberReader of_wcu(item);
    auto meter = ReadMeter(is_wcu ? of_wcu : numbers, *name);
    if (!meter || !of_wcu.damaged().empty()) continue;
    if (is_wcu) {
      if (!IsSound(meter->quota)) meter->quota = WriteQuota();
      meter->tokens = std::clamp(meter->tokens, -kMaxDebt, kMaxDebt);
      meter->remainder_period = meter->quota.period;
      image.wcu = meter;
      image.written_units = GetNumber(item, LimitAttribute(kWriteLimit, "tc"));
      continue;
    }
    image.names.emplace_back(*name);
    image.stored.push_back(meter->quota);
    image.bucket.meters.push_back(*std::move(meter));
  }
}

Status CheckTypes(const Item& item, const NumberReader& numbers, const BucketKey& key) {
  const auto damaged = [&](std::string_view attribute, std::string_view type) {
    return Fail(Code::kDataLoss, fmt::format("{}: attribute {} is not {}: the item is damaged; "
                                             "correct this attribute",
                                             Where(key), attribute, type));
  };
  if (!numbers.damaged().empty()) return damaged(numbers.damaged(), "a whole number");
  for (const std::string_view attribute : {kExtras, kGone}) {
    if (item.contains(attribute) && GetText(item, attribute) == nullptr)
      return damaged(attribute, "text");
  }
  return {};
}

// The end of the year 9999, in ms since 1970. No client writes a later time.
constexpr std::int64_t kLatestTime = 253'402'300'799'999;

// Returns kDataLoss if the balance is beyond kMaxDebt, in either direction: sums with it could
// overflow, in the arithmetic here and in conditions.
Status CheckBalance(const BucketImage& image, std::size_t i) {
  const std::int64_t tokens = image.bucket.meters[i].tokens;
  if (tokens >= -kMaxDebt && tokens <= kMaxDebt) return {};
  return Fail(
      Code::kDataLoss,
      fmt::format("{}: limit {} has a balance of {} millitokens, which no client writes: "
                  "the item is damaged; correct its attribute {}",
                  Where(image.key), image.names[i], tokens, LimitAttribute(image.names[i], "tk")));
}

// Replaces the quotas of the whole bucket in `image.bucket` by those of the shard.
Status Divide(BucketImage& image) {
  for (std::size_t i = 0; i < image.names.size(); ++i) {
    WEIR_RETURN_IF_ERROR(CheckBalance(image, i));
    if (!IsSound(image.stored[i])) {
      return Fail(Code::kDataLoss,
                  fmt::format("{}: limit {} has capacity {}, amount {}, period {}; allowed are 1 "
                              "to {} millitokens, in a period of 1 to {} ms",
                              Where(image.key), image.names[i], image.stored[i].capacity,
                              image.stored[i].amount, image.stored[i].period, kMaxMillitokens,
                              kMaxPeriodMillis));
    }
    Meter& meter = image.bucket.meters[i];
    meter.quota = ShareOf(image.stored[i], image.shards, image.key.shard);
    meter.remainder_period = meter.quota.period;
  }
  return {};
}

// Removes the text before the first `mark`, and the mark, from `text`; all of `text` if it has no
// mark. Returns the removed text without the mark.
std::string_view CutTo(std::string_view& text, char mark) {
  const std::size_t at = std::min(text.find(mark), text.size());
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return head;
}

// Ignores the remainder of a limit that is full: a refill drops it, too.
void ReadRemainder(std::string_view entry, BucketImage& image) {
  const std::string_view name = CutTo(entry, '=');
  const auto remainder = ReadInteger<std::int64_t>(CutTo(entry, '/'));
  const auto period = ReadInteger<std::int64_t>(entry);
  const auto found = std::ranges::find(image.names, name);
  if (found == image.names.end() || !remainder || !period) return;
  Meter& meter = image.bucket.meters[static_cast<std::size_t>(found - image.names.begin())];
  if (*remainder < 0 || *remainder >= *period || meter.tokens >= meter.quota.capacity) return;
  meter.remainder = *remainder;
  meter.remainder_period = *period;
}

// Ignores the remainders of another version, shard or rf.
void ReadRemainders(std::string_view text, BucketImage& image) {
  if (CutTo(text, ';') != "1") return;
  if (CutTo(text, ';') != std::to_string(image.key.shard)) return;
  if (CutTo(text, ';') != std::to_string(image.bucket.time.value)) return;
  while (!text.empty()) ReadRemainder(CutTo(text, ';'), image);
}

// A damaged time must not overflow a difference with another one.
UnixMillis ClampTime(std::int64_t stored) {
  return {std::clamp<std::int64_t>(stored, 0, kLatestTime)};
}

// Parses "<time>;<time>", the text of w_gone and w_ahead.
template <class Times>
std::optional<Times> ReadTimes(std::string_view text) {
  const auto first = ReadInteger<std::int64_t>(CutTo(text, ';'));
  const auto second = ReadInteger<std::int64_t>(text);
  if (!first || !second) return std::nullopt;
  return Times{ClampTime(*first), ClampTime(*second)};
}

void ReadAdjusts(const Item& item, BucketImage& image) {
  for (auto at = item.lower_bound(kAdjustPrefix);
       at != item.end() && at->first.starts_with(kAdjustPrefix); ++at) {
    image.adjusts.emplace_back(at->first, ClampTime(GetNumber(item, at->first).value_or(0)).value);
  }
}

}  // namespace

bool BucketImage::IsExtra(std::string_view limit) const {
  if (!extras) return false;
  for (std::string_view rest = *extras; !rest.empty();) {
    if (CutTo(rest, ';') == limit) return true;
  }
  return false;
}

bool BucketImage::IsHotAt(UnixMillis now) const {
  return wcu && bucket.time <= now + kUncountedAhead && IsHot(*wcu, (now - bucket.time).count());
}

std::int64_t PartOf(std::int64_t amount, std::uint32_t shards, std::uint32_t shard) {
  const std::int64_t odd = amount % shards;
  if (shard >= std::abs(odd)) return amount / shards;
  return amount / shards + (odd < 0 ? -1 : 1);
}

Quota ShareOf(const Quota& quota, std::uint32_t shards, std::uint32_t shard) {
  return {std::max<std::int64_t>(PartOf(quota.capacity, shards, shard), 1), quota.amount,
          quota.period * static_cast<std::int64_t>(shards)};
}

Result<BucketImage> ReadImage(const Item& item) {
  const TableKey key = KeyOf(item);
  auto bucket = ParseBucketPartition(key.pk);
  const auto rf = GetNumber(item, "rf");
  if (!bucket || !rf) {
    return Fail(Code::kDataLoss, fmt::format("item {} {} is not a bucket: {}", key.pk, key.sk,
                                             bucket ? "it has no rf" : "its key names none"));
  }
  if (*rf < 0 || *rf > kLatestTime) {
    return Fail(
        Code::kDataLoss,
        fmt::format("{}: rf is {}, which is not a time in ms since 1970: the item is damaged; "
                    "correct its attribute rf",
                    Where(*bucket), *rf));
  }
  BucketImage image{.key = *std::move(bucket), .bucket = {.time = {*rf}, .meters = {}}};
  NumberReader numbers(item);
  image.stored_shards = numbers.Read("shard_count");
  image.shards = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(image.stored_shards.value_or(1), 1, kMaxShards));
  image.ttl_seconds = numbers.Read("ttl");
  image.valid_until = numbers.Read("vu");
  numbers.Read(kJoins);
  image.write_units = WriteUnits(item);
  ReadLimits(item, numbers, image);
  WEIR_RETURN_IF_ERROR(CheckFeatures(item, image));
  WEIR_RETURN_IF_ERROR(CheckTypes(item, numbers, image.key));
  WEIR_RETURN_IF_ERROR(Divide(image));
  if (const auto* text = GetText(item, kRemainders)) ReadRemainders(*text, image);
  ReadAdjusts(item, image);
  image.slots = ReadSlots(item);
  if (const auto* extras = GetText(item, kExtras)) image.extras = *extras;
  if (const auto* gone = GetText(item, kGone)) {
    image.evicted = ReadTimes<EvictedLimits>(*gone);
    image.stored_gone = *gone;
  }
  if (const auto ahead = item.find(kAhead); ahead != item.end()) image.stored_ahead = ahead->second;
  if (const auto* ahead = GetText(item, kAhead)) image.ahead = ReadTimes<AheadMark>(*ahead);
  if (const auto back = GetNumber(item, kLastSetBack)) image.last_set_back = UnixMillis{*back};
  return image;
}

BucketRecord ToRecord(const BucketImage& image) {
  BucketRecord record{.key = image.key, .bucket = {.time = image.bucket.time, .meters = {}}};
  for (std::size_t i = 0; i < image.names.size(); ++i) {
    const Meter& meter = image.bucket.meters[i];
    if (image.IsExtra(image.names[i])) {
      record.extras.meters.push_back({image.names[i], meter, image.bucket.time});
    } else {
      record.names.push_back(image.names[i]);
      record.bucket.meters.push_back(meter);
    }
  }
  if (image.evicted) {
    record.extras.last_left = image.evicted->last_left;
    record.extras.left_full = image.evicted->left_full;
  }
  return record;
}

std::string LimitAttribute(std::string_view limit, std::string_view field) {
  return fmt::format(FMT_COMPILE("b_{}_{}"), limit, field);
}

std::string FormatRemainders(std::uint32_t shard, const std::vector<std::string>& names,
                             const Bucket& bucket) {
  std::string text = fmt::format("1;{};{}", shard, bucket.time.value);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Meter& meter = bucket.meters[i];
    if (meter.remainder == 0) continue;
    text += fmt::format(";{}={}/{}", names[i], meter.remainder, meter.remainder_period);
  }
  return text;
}

std::optional<std::string> FormatExtras(std::vector<std::string> names) {
  if (names.empty()) return std::nullopt;
  std::ranges::sort(names);
  return fmt::format("{}", fmt::join(names, ";"));
}

std::string FormatGone(const EvictedLimits& gone) {
  return fmt::format("{};{}", gone.last_left.value, gone.left_full.value);
}

std::string FormatAhead(const AheadMark& ahead) {
  return fmt::format("{};{}", ahead.rf.value, ahead.seen.value);
}

Quota WriteQuota(std::int64_t capacity) { return {capacity, capacity, 1000}; }

}  // namespace weir::dynamo
