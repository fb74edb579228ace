#include "weir/embedded/rows/bucket_reader.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "weir/store/bucket/charge.h"

namespace weir {
namespace {

namespace ondemand = simdjson::ondemand;

// The numbers of a limit: [tokens, remainder, consumed, capacity, amount, period, remainder_period,
// time].
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

// Returns whether the invariants of bucket.h hold: other meters would break the arithmetic.
bool IsSound(const Meter& meter) {
  return Validate(meter.quota).has_value() && meter.tokens <= meter.quota.capacity &&
         meter.tokens >= kLowestBalance && meter.remainder >= 0 &&
         meter.remainder < meter.remainder_period && meter.remainder_period <= kMaxPeriodMillis;
}

// A text that no store accepts was not written by a store.
bool IsText(std::string_view text) { return CheckBucketText("text", text).has_value(); }

bool IsTime(std::int64_t time) {
  return time >= kEarliestBucketTime.value && time <= kLatestBucketTime.value;
}

// Returns the end of the line that begins at `from`. It is a line break, or a damaged byte between
// "]," and "[\"", where a line break is expected.
std::size_t EndOfLine(std::string_view row, std::size_t from) {
  for (std::size_t at = from; at < row.size(); ++at) {
    if (row[at] == '\n') return at;
    const bool is_after_change = at >= from + 2 && row.substr(at - 2, 2) == "],";
    if (is_after_change && row.substr(at + 1, 2) == "[\"") return at;
  }
  return row.size();
}

// Returns the index behind the JSON string that begins at `at`, or npos if there is none.
std::size_t EndOfString(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != '"') return text.npos;
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.npos;
}

// Returns the index behind the three elements of a change's key, or npos if they are not readable.
std::size_t EndOfKey(std::string_view line) {
  std::size_t at = 1;
  for (int i = 0; i < 2; ++i) {
    at = EndOfString(line, at);
    if (at == line.npos || at == line.size() || line[at] != ',') return line.npos;
    ++at;
  }
  // A number that begins with 0 ends after the 0.
  if (line.substr(at, 1) == "0") return at + 1;
  const std::size_t end = std::min(line.find_first_not_of("0123456789", at), line.size());
  const bool is_number = end > at && end < line.size() && (line[end] == ',' || line[end] == ']');
  return is_number ? end : line.npos;
}

bool IsAtEnd(ondemand::document& document) {
  const char* rest = nullptr;
  return document.current_location().get(rest) != simdjson::SUCCESS;
}

// simdjson reports errors by exception or by code; this file uses the codes.

// Returns the number of whole numbers in an array; 0 if it has other elements, or more than fit.
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
  if (IsText(name) && IsTime(extra.time.value) && IsSound(extra.meter)) return extra;
  return Fail(Damaged(fmt::format("extra limit {} has an impossible name or impossible numbers",
                                  extra.name))
                  .error());
}

// Reads the element at `index` of a change. Returns false if it does not have the right type.
bool ReadElement(ondemand::value element, std::size_t index, Change& change) {
  if (index == 0) return !element.get_string().get(change.entity);
  if (index == 1) return !element.get_string().get(change.resource);
  if (index == 2) {
    std::uint64_t shard = 0;
    if (element.get_uint64().get(shard) || !std::in_range<std::uint32_t>(shard)) return false;
    change.shard = static_cast<std::uint32_t>(shard);
    return true;
  }
  if (index == 3) return !element.get_int64().get(change.time.emplace()) && IsTime(*change.time);
  if (index == 6) {
    ondemand::array use;
    return !element.get_array().get(use) && !use.raw_json().get(change.use);
  }
  bool is_null = false;
  if (index == 5 && !element.is_null().get(is_null) && is_null) return true;
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
  const bool is_whole = count == 3 || (count >= 5 && count <= 7);
  return is_whole && IsText(change.entity) && IsText(change.resource);
}

// Reads hours since 1970; -1 means no hour.
bool ReadHour(ondemand::value value, UnixMillis& hour) {
  std::int64_t hours = 0;
  if (value.get_int64().get(hours) || hours < -1) return false;
  hour = BucketUse::kNoHour;
  if (hours == -1) return true;
  hour = {std::min(hours, INT64_MAX / kHourMillis) * kHourMillis};
  return hour <= kLatestBucketTime;
}

bool ReadLimitUses(ondemand::value value, std::vector<LimitUse>& limits) {
  ondemand::object object;
  if (value.get_object().get(object)) return false;
  for (auto field : object) {
    std::string_view name;
    std::array<std::int64_t, 2> numbers{};
    if (field.unescaped_key().get(name) || !IsText(name)) return false;
    if (ReadNumbers(field.value(), numbers) != numbers.size() || numbers[1] < 0) return false;
    limits.push_back({.limit = std::string(name), .used = numbers[0], .overdrawn = numbers[1]});
  }
  return true;
}

bool ReadHours(ondemand::value value, std::vector<HourOfUse>& hours) {
  ondemand::array array;
  if (value.get_array().get(array)) return false;
  for (auto element : array) {
    ondemand::array parts;
    if (element.get_array().get(parts)) return false;
    HourOfUse hour;
    std::size_t count = 0;
    for (auto part : parts) {
      ondemand::value one;
      if (part.get(one)) return false;
      const bool read = count == 0   ? ReadHour(one, hour.start)
                        : count == 1 ? !one.get_int64().get(hour.events) && hour.events >= 0
                                     : count == 2 && ReadLimitUses(one, hour.limits);
      if (!read) return false;
      ++count;
    }
    if (count != 3 || hour.start == BucketUse::kNoHour) return false;
    AddTo(hours, hour);
  }
  return !hours.empty();
}

bool ReadUsed(ondemand::value value, std::size_t limits, BucketUse& use) {
  ondemand::array array;
  if (value.get_array().get(array)) return false;
  for (auto element : array) {
    if (element.get_int64().get(use.used.emplace_back())) return false;
  }
  return use.used.size() == (use.hour == BucketUse::kNoHour ? 0 : limits);
}

// Reads the element at `index` of a use. Returns false if it does not have the right type.
bool ReadUsePart(ondemand::value value, std::size_t index, std::size_t limits, BucketUse& use) {
  switch (index) {
    case 0:
      return ReadHour(value, use.hour);
    case 1:
      return !value.get_int64().get(use.events) && use.events >= 0;
    case 2:
      return ReadUsed(value, limits, use);
    case 3:
      use.more = std::make_unique<std::vector<HourOfUse>>();
      return ReadHours(value, *use.more);
    default:
      return false;
  }
}

}  // namespace

struct BucketReader::State {
  ondemand::parser parser;
  std::string text;  // with padding, because simdjson reads a little beyond the end

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

std::optional<BucketKey> BucketReader::ReadKey(std::string_view line) {
  const std::size_t end = EndOfKey(line);
  if (end == line.npos) return std::nullopt;
  std::optional<BucketKey> key;
  const std::string row = fmt::format("[{}]]", line.substr(0, end));
  const Status read = ReadChanges(row, [&](const Change& change) {
    key.emplace(std::string(change.entity), std::string(change.resource), change.shard);
  });
  return read ? key : std::nullopt;
}

void BucketReader::SalvageChanges(std::string_view row,
                                  const std::function<void(const Change&)>& sink,
                                  const std::function<void(const DamagedChange&)>& damaged) {
  if (ReadChanges(row, sink)) return;
  // A row begins with the array's bracket, and each line ends with a comma or the array's other
  // bracket.
  for (std::size_t at = 1; at < row.size();) {
    const std::size_t end = EndOfLine(row, at);
    const std::string_view line = row.substr(at, end - at);
    if (!line.empty() && !ReadLine(line.substr(0, line.size() - 1), sink)) {
      damaged({.rest_of_row = row.substr(at), .key = ReadKey(line)});
    }
    at = end + 1;
  }
}

bool BucketReader::ReadLine(std::string_view line, const std::function<void(const Change&)>& sink) {
  std::size_t changes = 0;
  const std::string row = fmt::format("[{}]", line);
  if (!ReadChanges(row, [&](const Change&) { ++changes; }) || changes != 1) return false;
  return ReadChanges(row, sink).has_value();
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
    const Meter meter = ToMeter(numbers);
    if (!IsText(name) || std::ranges::find(record.names, name) != record.names.end()) {
      return Damaged(fmt::format("limit {} has an impossible name", record.names.size()));
    }
    if (!IsSound(meter)) return Damaged(fmt::format("limit {} has impossible numbers", name));
    record.names.emplace_back(name);
    record.bucket.meters.push_back(meter);
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
    if (std::ranges::find(record.extras.meters, extra.name, &ExtraMeter::name) !=
        record.extras.meters.end()) {
      return Damaged(fmt::format("extra limit {} is there twice", extra.name));
    }
    record.extras.meters.push_back(std::move(extra));
  }
  std::array<std::int64_t, 2> left{};
  ondemand::value times;
  if (object["left"].get(times) || ReadNumbers(times, left) != left.size() || !IsTime(left[0]) ||
      left[1] < 0 || left[1] > (kLatestBucketTime + kLongestWait).value) {
    return Damaged("the times of extra limits that left");
  }
  record.extras.last_left = {left[0]};
  record.extras.left_full = {left[1]};
  return {};
}

Result<BucketUse> BucketReader::ReadUse(std::string_view text, std::size_t limits) {
  ondemand::document document;
  ondemand::array parts;
  BucketUse use;
  std::size_t count = 0;
  bool read = !state_->Iterate(text, document) && !document.get_array().get(parts);
  if (read) {
    for (auto part : parts) {
      ondemand::value value;
      read = read && !part.get(value) && ReadUsePart(value, count++, limits, use);
      if (!read) break;
    }
  }
  if (read && count >= 3) return use;
  return Fail(Damaged("the use of a bucket").error());
}

}  // namespace weir
