#include "weir/embedded/bucket_reader.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <array>
#include <string>
#include <utility>

namespace weir {
namespace {

namespace ondemand = simdjson::ondemand;

// [tokens, remainder, consumed, capacity, amount, period, remainder_period]
using Numbers = std::array<std::int64_t, 7>;

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
bool ReadNumbers(ondemand::value value, Numbers& numbers) {
  ondemand::array array;
  if (value.get_array().get(array)) return false;
  std::size_t count = 0;
  for (auto element : array) {
    if (count == numbers.size() || element.get_int64().get(numbers[count++])) return false;
  }
  if (count == 6) numbers[6] = numbers[5];
  return count == 6 || count == 7;
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
  ondemand::object limits;
  return index == 4 && !element.get_object().get(limits) && !limits.raw_json().get(change.limits);
}

bool ReadChange(simdjson::simdjson_result<ondemand::value> value, Change& change) {
  ondemand::array array;
  if (value.get_array().get(array)) return false;
  std::size_t count = 0;
  for (auto element : array) {
    ondemand::value one;
    if (element.get(one) || !ReadElement(one, count++, change)) return false;
  }
  return count == 3 || count == 5;
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
    if (field.unescaped_key().get(name) || !ReadNumbers(field.value(), numbers)) {
      return Damaged(fmt::format("limit {}", record.names.size()));
    }
    record.names.emplace_back(name);
    record.bucket.meters.push_back(ToMeter(numbers));
    if (!IsSound(record.bucket.meters.back())) {
      return Damaged(fmt::format("limit {} has impossible numbers", name));
    }
  }
  if (record.names.empty()) return Damaged("a bucket without limits");
  return {};
}

}  // namespace weir
