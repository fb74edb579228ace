#include "weir/embedded/rows/bucket_codec.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

namespace weir {
namespace {

// Size at which the next change begins a new row: SQLite's rows end at 10^9 bytes, and a reader
// holds a whole row in memory.
constexpr std::size_t kRowBytes = 4u << 20;

constexpr std::string_view kEnd = "]]\n";

// The most bytes of an integer, with the character that follows it.
constexpr std::size_t kIntegerBytes = 21;

// Numbers of one limit, at most.
constexpr std::size_t kNumbers = 8;

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

// MostQuoted, MostLimit and MostExtras return upper bounds of the bytes of their texts.
std::size_t MostQuoted(std::string_view text) { return 6 * text.size() + 2; }

std::size_t MostLimit(std::string_view name) {
  return MostQuoted(name) + 3 + kNumbers * kIntegerBytes;
}

// Appends the bytes that `write` puts, which are at most `most`.
template <class Write>
void AppendWith(std::string& out, std::size_t most, Write&& write) {
  const std::size_t size = out.size();
  if (out.capacity() < size + most) out.reserve(2 * (size + most));
  out.resize_and_overwrite(size + most, [&](char* data, std::size_t) {
    UncheckedWriter pen(data + size);
    write(pen);
    return static_cast<std::size_t>(pen.at() - data);
  });
}

// Puts the six common numbers of a limit, without the closing bracket.
void PutNumbers(UncheckedWriter& pen, std::string_view name, const Meter& meter) {
  pen.Quote(name);
  pen.Put(std::string_view(":["));
  const Quota& quota = meter.quota;
  for (const std::int64_t number :
       {meter.tokens, meter.remainder, meter.consumed, quota.capacity, quota.amount}) {
    pen.Put(number);
    pen.Put(',');
  }
  pen.Put(quota.period);
}

void PutLimit(UncheckedWriter& pen, std::string_view name, const Meter& meter) {
  PutNumbers(pen, name, meter);
  if (meter.remainder_period != meter.quota.period) {
    pen.Put(',');
    pen.Put(meter.remainder_period);
  }
  pen.Put(']');
}

void PutExtra(UncheckedWriter& pen, const ExtraMeter& extra) {
  PutNumbers(pen, extra.name, extra.meter);
  pen.Put(',');
  pen.Put(extra.meter.remainder_period);
  pen.Put(',');
  pen.Put(extra.time.value);
  pen.Put(']');
}

// Puts an object with `count` members.
template <class Put>
void PutObject(UncheckedWriter& pen, std::size_t count, Put&& put) {
  pen.Put('{');
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) pen.Put(',');
    put(i);
  }
  pen.Put('}');
}

std::size_t MostExtras(const ExtraMeters& extras) {
  std::size_t most = 2 * kIntegerBytes + 32;
  for (const ExtraMeter& extra : extras.meters) most += MostLimit(extra.name) + 1;
  return most;
}

void PutExtras(UncheckedWriter& pen, const ExtraMeters& extras) {
  pen.Put(std::string_view(R"({"limits":)"));
  PutObject(pen, extras.meters.size(), [&](std::size_t i) { PutExtra(pen, extras.meters[i]); });
  pen.Put(std::string_view(R"(,"left":[)"));
  pen.Put(extras.last_left.value);
  pen.Put(',');
  pen.Put(extras.left_full.value);
  pen.Put(std::string_view("]}"));
}

}  // namespace

void AppendQuoted(std::string& out, std::string_view text) {
  AppendWith(out, MostQuoted(text), [&](UncheckedWriter& pen) { pen.Quote(text); });
}

void AppendLimits(std::string& out, const BucketRecord& record) {
  std::size_t most = 2;
  for (const std::string& name : record.names) most += MostLimit(name) + 1;
  AppendWith(out, most, [&](UncheckedWriter& pen) {
    PutObject(pen, record.names.size(),
              [&](std::size_t i) { PutLimit(pen, record.names[i], record.bucket.meters[i]); });
  });
}

void AppendExtras(std::string& out, const ExtraMeters& extras) {
  AppendWith(out, MostExtras(extras), [&](UncheckedWriter& pen) { PutExtras(pen, extras); });
}

template <class Rest>
void ChangeBatch::Append(const BucketKey& key, std::size_t most, Rest&& rest) {
  if (rows_.empty() || rows_.back().size() >= kRowBytes) rows_.emplace_back();
  std::string& row = rows_.back();
  const bool first = row.empty();
  if (!first) row.resize(row.size() - kEnd.size() + 1);
  most += MostQuoted(key.entity) + MostQuoted(key.resource) + kIntegerBytes + 8;
  AppendWith(row, most, [&](UncheckedWriter& pen) {
    pen.Put(first ? std::string_view("[[") : std::string_view(",\n["));
    pen.Quote(key.entity);
    pen.Put(',');
    pen.Quote(key.resource);
    pen.Put(',');
    pen.Put(std::int64_t{key.shard});
    rest(pen);
    pen.Put(kEnd);
  });
  ++count_;
}

void ChangeBatch::Add(const BucketKey& key, const BucketState* state) {
  if (state == nullptr) return AddRemoved(key);
  const std::vector<Limit>& limits = state->target->limits;
  std::size_t most = kIntegerBytes + 5;
  for (const Limit& limit : limits) most += MostLimit(limit.name) + 1;
  if (state->extras != nullptr) most += MostExtras(*state->extras);
  Append(key, most, [&](UncheckedWriter& pen) {
    pen.Put(',');
    pen.Put(state->bucket.time.value);
    pen.Put(',');
    PutObject(pen, limits.size(),
              [&](std::size_t i) { PutLimit(pen, limits[i].name, state->bucket.meters[i]); });
    if (state->extras == nullptr) return;
    pen.Put(',');
    PutExtras(pen, *state->extras);
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
