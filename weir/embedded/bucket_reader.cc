#include "weir/embedded/bucket_reader.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <array>
#include <string>
#include <utility>

namespace weir {
namespace {

namespace ondemand = simdjson::ondemand;

// [tokens, remainder, consumed, capacity, amount, period, remainder_period, time]
using Numbers = std::array<std::int64_t, 8>;
constexpr std::size_t kFewestNumbers = 6;

Status Damaged(std::string_view what) {
  return Fail(Code::kDataLoss, fmt::format("damaged bucket data: {}", what));
}

Meter ToMeter(const Numbers& n) {
  return {.quota = {.capacity = n[3], .amount = n[4], .period = n[5]},
          .tokens = n[0],
          .remainder = n[1],
          .remainder_period = n[6],
          .consumed = n[2]};
}

// A file that breaks the invariants of bucket.h would break the arithmetic.
bool IsSound(const Meter& meter) {
  return Validate(meter.quota).has_value() && meter.tokens <= meter.quota.capacity &&
         meter.remainder >= 0 && meter.remainder < meter.remainder_period &&
         meter.remainder_period <= kMaxPeriodMillis;
}

bool IsAtEnd(ondemand::document& document) {
  const char* rest = nullptr;
  return document.current_location().get(rest) != simdjson::SUCCESS;
}

// simdjson reports by exception or by code; these use the codes.

// How many whole numbers an array has; 0 if it has others, or more than fit.
template <std::size_t kMost>
std::size_t ReadNumbers(ondemand::value value, std::array<std::int64_t, kMost>& numbers) {
  ondemand::array array;
  if (value.get_array().get(array)) return 0;
  std::size_t count = 0;
  for (auto element : array) {
    if (count == numbers.size() || element.get_int64().get(numbers[count++])) return 0;
  }
  return count;
}

bool ReadLimit(ondemand::value value, Numbers& numbers) {
  const std::size_t count = ReadNumbers(value, numbers);
  if (count == kFewestNumbers) numbers[6] = numbers[5];
  return count == kFewestNumbers || count == kFewestNumbers + 1;
}

Result<ExtraMeter> ReadExtra(simdjson::simdjson_result<ondemand::field>& field) {
  std::string_view name;
  Numbers numbers{};
  if (field.unescaped_key().get(name)) return Fail(Damaged("the name of an extra limit").error());
  ExtraMeter extra{.name = std::string(name), .meter = {}, .time = {}};
  if (ReadNumbers(field.value(), numbers) != numbers.size()) {
    return Fail(Damaged(fmt::format("extra limit {}", extra.name)).error());
  }
  extra.meter = ToMeter(numbers);
  extra.time = {numbers[7]};
  if (IsSound(extra.meter)) return extra;
  return Fail(Damaged(fmt::format("extra limit {} has impossible numbers", extra.name)).error());
}

// False if the element at `index` of a change is not what stands there.
bool ReadElement(ondemand::value element, std::size_t index, Change& change) {
  if (index == 0) return !element.get_string().get(change.entity);
  if (index == 1) return !element.get_string().get(change.resource);
  if (index == 2) {
    std::uint64_t shard = 0;
    if (element.get_uint64().get(shard) || !std::in_range<std::uint32_t>(shard)) return false;
    change.shard = static_cast<std::uint32_t>(shard);
    return true;
  }
  if (index == 3) return !element.get_int64().get(change.time.emplace());
  ondemand::object object;
  if (index > 5 || element.get_object().get(object)) return false;
  return !object.raw_json().get(index == 4 ? change.limits : change.extras);
}

bool ReadChange(simdjson::simdjson_result<ondemand::value> value, Change& change) {
  ondemand::array array;
  if (value.get_array().get(array)) return false;
  std::size_t count = 0;
  for (auto element : array) {
    ondemand::value one;
    if (element.get(one) || !ReadElement(one, count++, change)) return false;
  }
  return count == 3 || count == 5 || count == 6;
}

}  // namespace

struct BucketReader::State {
  ondemand::parser parser;
  std::string text;  // simdjson reads a little beyond the end

  simdjson::error_code Iterate(std::string_view json, ondemand::document& document) {
    text.assign(json);
    text.reserve(json.size() + simdjson::SIMDJSON_PADDING);
    return parser.iterate(text).get(document);
  }
};

BucketReader::BucketReader() : state_(std::make_unique<State>()) {}

BucketReader::~BucketReader() = default;

BucketReader::BucketReader(BucketReader&&) noexcept = default;

BucketReader& BucketReader::operator=(BucketReader&&) noexcept = default;

Status BucketReader::ReadChanges(std::string_view row,
                                 const std::function<void(const Change&)>& sink) {
  ondemand::document document;
  ondemand::array changes;
  if (state_->Iterate(row, document) || document.get_array().get(changes)) {
    return Damaged("a row of changes is not a JSON array");
  }
  std::size_t index = 0;
  for (auto element : changes) {
    Change change;
    if (!ReadChange(element, change)) return Damaged(fmt::format("change {} of a row", index));
    sink(change);
    ++index;
  }
  if (!IsAtEnd(document)) return Damaged("a row of changes goes on after its end");
  return {};
}

Status BucketReader::ReadLimits(std::string_view limits, BucketRecord& record) {
  ondemand::document document;
  ondemand::object object;
  if (state_->Iterate(limits, document) || document.get_object().get(object)) {
    return Damaged("limits are not a JSON object");
  }
  for (auto field : object) {
    std::string_view name;
    Numbers numbers{};
    if (field.unescaped_key().get(name) || !ReadLimit(field.value(), numbers)) {
      return Damaged(fmt::format("limit {}", record.names.size()));
    }
    record.names.emplace_back(name);
    record.bucket.meters.push_back(ToMeter(numbers));
    if (!IsSound(record.bucket.meters.back())) {
      return Damaged(fmt::format("limit {} has impossible numbers", name));
    }
  }
  return {};
}

Status BucketReader::ReadExtras(std::string_view extras, BucketRecord& record) {
  ondemand::document document;
  ondemand::object object;
  ondemand::object limits;
  if (state_->Iterate(extras, document) || document.get_object().get(object) ||
      object["limits"].get_object().get(limits)) {
    return Damaged("extra limits are not a JSON object");
  }
  for (auto field : limits) {
    WEIR_ASSIGN_OR_RETURN(ExtraMeter extra, ReadExtra(field));
    record.extras.meters.push_back(std::move(extra));
  }
  std::array<std::int64_t, 2> left{};
  ondemand::value times;
  if (object["left"].get(times) || ReadNumbers(times, left) != left.size()) {
    return Damaged("the times of extra limits that left");
  }
  record.extras.last_left = {left[0]};
  record.extras.left_full = {left[1]};
  return {};
}

}  // namespace weir
