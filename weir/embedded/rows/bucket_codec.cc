#include "weir/embedded/rows/bucket_codec.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <utility>

namespace weir {
namespace {

// Size at which the next change begins a new row: SQLite limits a row to 10^9 bytes, and a reader
// holds a whole row in memory.
constexpr std::size_t kRowBytes = 4u << 20;

constexpr std::string_view kRowEnd = "]]\n";

// Maximum size of a formatted int64, with the separator that follows it.
constexpr std::size_t kIntegerBytes = 21;

constexpr std::size_t kMaxNumbersPerLimit = 8;

bool NeedsEscape(char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }

// Writes without bounds checks into memory whose size the caller has checked: the committer writes
// a million buckets a second.
class UncheckedWriter {
 public:
  explicit UncheckedWriter(char* at) : at_(at) {}
  char* at() const { return at_; }

  void Put(char c) { *at_++ = c; }
  void Put(std::string_view text) {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void Put(std::int64_t value) { at_ = std::to_chars(at_, at_ + kIntegerBytes, value).ptr; }
  void Quote(std::string_view text) {
    Put('"');
    for (const char c : text) {
      if (NeedsEscape(c)) {
        at_ = fmt::format_to(at_, "\\u{:04x}", static_cast<unsigned>(c));
      } else {
        Put(c);
      }
    }
    Put('"');
  }

 private:
  char* at_;
};

// The functions Max...Size return upper bounds, in bytes, of outputs: MaxQuotedSize of Quote,
// MaxLimitSize of PutLimit, PutExtra and a limit in PutHour, MaxExtrasSize of PutExtras, and
// MaxUseSize of PutUse.
std::size_t MaxQuotedSize(std::string_view text) { return 6 * text.size() + 2; }

std::size_t MaxLimitSize(std::string_view name) {
  return MaxQuotedSize(name) + 3 + kMaxNumbersPerLimit * kIntegerBytes;
}

// Appends the output of `write`, which is at most `max_bytes` long.
template <class Write>
void AppendWith(std::string& out, std::size_t max_bytes, Write&& write) {
  const std::size_t size = out.size();
  if (out.capacity() < size + max_bytes) out.reserve(2 * (size + max_bytes));
  out.resize_and_overwrite(size + max_bytes, [&](char* data, std::size_t) {
    UncheckedWriter writer(data + size);
    write(writer);
    return static_cast<std::size_t>(writer.at() - data);
  });
}

// Puts the six numbers that limits and extras have in common, without the closing bracket.
void PutCommonNumbers(UncheckedWriter& writer, std::string_view name, const Meter& meter) {
  writer.Quote(name);
  writer.Put(std::string_view(":["));
  const Quota& quota = meter.quota;
  for (const std::int64_t number :
       {meter.tokens, meter.remainder, meter.consumed, quota.capacity, quota.amount}) {
    writer.Put(number);
    writer.Put(',');
  }
  writer.Put(quota.period);
}

void PutLimit(UncheckedWriter& writer, std::string_view name, const Meter& meter) {
  PutCommonNumbers(writer, name, meter);
  if (meter.remainder_period != meter.quota.period) {
    writer.Put(',');
    writer.Put(meter.remainder_period);
  }
  writer.Put(']');
}

void PutExtra(UncheckedWriter& writer, const ExtraMeter& extra) {
  PutCommonNumbers(writer, extra.name, extra.meter);
  writer.Put(',');
  writer.Put(extra.meter.remainder_period);
  writer.Put(',');
  writer.Put(extra.time.value);
  writer.Put(']');
}

// Puts `count` members of an object, or elements of an array, with commas between them.
template <class Put>
void PutSeparated(UncheckedWriter& writer, std::size_t count, Put&& put) {
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) writer.Put(',');
    put(i);
  }
}

template <class Put>
void PutObject(UncheckedWriter& writer, std::size_t count, Put&& put) {
  writer.Put('{');
  PutSeparated(writer, count, std::forward<Put>(put));
  writer.Put('}');
}

std::size_t MaxExtrasSize(const ExtraMeters& extras) {
  std::size_t max_bytes = 2 * kIntegerBytes + 32;
  for (const ExtraMeter& extra : extras.meters) max_bytes += MaxLimitSize(extra.name) + 1;
  return max_bytes;
}

void PutExtras(UncheckedWriter& writer, const ExtraMeters& extras) {
  writer.Put(std::string_view(R"({"limits":)"));
  PutObject(writer, extras.meters.size(),
            [&](std::size_t i) { PutExtra(writer, extras.meters[i]); });
  writer.Put(std::string_view(R"(,"left":[)"));
  writer.Put(extras.last_left.value);
  writer.Put(',');
  writer.Put(extras.left_full.value);
  writer.Put(std::string_view("]}"));
}

std::size_t MaxUseSize(const BucketUse& use) {
  std::size_t max_bytes = (use.used.size() + 2) * kIntegerBytes + 16;
  if (use.more == nullptr) return max_bytes;
  for (const HourOfUse& hour : *use.more) {
    max_bytes += 2 * kIntegerBytes + 8;
    for (const LimitUse& limit : hour.limits) max_bytes += MaxLimitSize(limit.limit) + 1;
  }
  return max_bytes;
}

template <class Put>
void PutArray(UncheckedWriter& writer, std::size_t count, Put&& put) {
  writer.Put('[');
  PutSeparated(writer, count, std::forward<Put>(put));
  writer.Put(']');
}

void PutHour(UncheckedWriter& writer, const HourOfUse& hour) {
  writer.Put('[');
  writer.Put(hour.start.value / kHourMillis);
  writer.Put(',');
  writer.Put(hour.events);
  writer.Put(',');
  PutObject(writer, hour.limits.size(), [&](std::size_t i) {
    const LimitUse& limit = hour.limits[i];
    writer.Quote(limit.limit);
    writer.Put(std::string_view(":["));
    writer.Put(limit.used);
    writer.Put(',');
    writer.Put(limit.overdrawn);
    writer.Put(']');
  });
  writer.Put(']');
}

void PutUse(UncheckedWriter& writer, const BucketUse& use) {
  writer.Put('[');
  writer.Put(use.hour == BucketUse::kNoHour ? std::int64_t{-1} : use.hour.value / kHourMillis);
  writer.Put(',');
  writer.Put(use.events);
  writer.Put(',');
  PutArray(writer, use.used.size(), [&](std::size_t i) { writer.Put(use.used[i]); });
  if (use.more != nullptr) {
    writer.Put(',');
    PutArray(writer, use.more->size(), [&](std::size_t i) { PutHour(writer, (*use.more)[i]); });
  }
  writer.Put(']');
}

}  // namespace

void AppendQuoted(std::string& out, std::string_view text) {
  AppendWith(out, MaxQuotedSize(text), [&](UncheckedWriter& writer) { writer.Quote(text); });
}

void AppendLimits(std::string& out, const BucketRecord& record) {
  std::size_t max_bytes = 2;
  for (const std::string& name : record.names) max_bytes += MaxLimitSize(name) + 1;
  AppendWith(out, max_bytes, [&](UncheckedWriter& writer) {
    PutObject(writer, record.names.size(),
              [&](std::size_t i) { PutLimit(writer, record.names[i], record.bucket.meters[i]); });
  });
}

void AppendExtras(std::string& out, const ExtraMeters& extras) {
  AppendWith(out, MaxExtrasSize(extras),
             [&](UncheckedWriter& writer) { PutExtras(writer, extras); });
}

void AppendUse(std::string& out, const BucketUse& use) {
  AppendWith(out, MaxUseSize(use), [&](UncheckedWriter& writer) { PutUse(writer, use); });
}

template <class WriteTail>
void ChangeBatch::Append(const BucketKey& key, std::size_t max_tail_bytes, WriteTail&& write_tail) {
  if (rows_.empty() || rows_.back().size() >= kRowBytes) rows_.emplace_back();
  std::string& row = rows_.back();
  const bool is_first = row.empty();
  // Removes the end of the row, up to the bracket that closes the previous change.
  if (!is_first) row.resize(row.size() - kRowEnd.size() + 1);
  const std::size_t max_bytes =
      MaxQuotedSize(key.entity) + MaxQuotedSize(key.resource) + kIntegerBytes + 8 + max_tail_bytes;
  AppendWith(row, max_bytes, [&](UncheckedWriter& writer) {
    writer.Put(is_first ? std::string_view("[[") : std::string_view(",\n["));
    writer.Quote(key.entity);
    writer.Put(',');
    writer.Quote(key.resource);
    writer.Put(',');
    writer.Put(std::int64_t{key.shard});
    write_tail(writer);
    writer.Put(kRowEnd);
  });
  ++count_;
}

void ChangeBatch::Add(const BucketKey& key, const BucketState* state) {
  if (state == nullptr) return AddRemoved(key);
  const std::vector<Limit>& limits = state->target->limits;
  std::size_t max_bytes = kIntegerBytes + 5;
  for (const Limit& limit : limits) max_bytes += MaxLimitSize(limit.name) + 1;
  if (state->extras != nullptr) max_bytes += MaxExtrasSize(*state->extras);
  const bool is_used = !IsEmpty(state->use);
  if (is_used) max_bytes += MaxUseSize(state->use) + 6;
  Append(key, max_bytes, [&](UncheckedWriter& writer) {
    writer.Put(',');
    writer.Put(state->bucket.time.value);
    writer.Put(',');
    PutObject(writer, limits.size(),
              [&](std::size_t i) { PutLimit(writer, limits[i].name, state->bucket.meters[i]); });
    if (state->extras != nullptr) {
      writer.Put(',');
      PutExtras(writer, *state->extras);
    }
    if (!is_used) return;
    writer.Put(state->extras == nullptr ? std::string_view(",null,") : std::string_view(","));
    PutUse(writer, state->use);
  });
}

void ChangeBatch::AddRemoved(const BucketKey& key) {
  Append(key, 0, [](UncheckedWriter&) {});
}

void ChangeBatch::Clear() {
  // Keeps the memory of one row for the next batch.
  if (rows_.size() > 1) rows_.resize(1);
  if (!rows_.empty()) rows_.front().clear();
  count_ = 0;
}

std::size_t ChangeBatch::bytes() const {
  std::size_t bytes = 0;
  for (const std::string& row : rows_) bytes += row.size();
  return bytes;
}

std::vector<std::string_view> ChangeBatch::Rows() const {
  std::vector<std::string_view> rows;
  for (const std::string& row : rows_) {
    if (!row.empty()) rows.emplace_back(row);
  }
  return rows;
}

}  // namespace weir
