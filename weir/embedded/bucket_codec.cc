#include "weir/embedded/bucket_codec.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

namespace weir {
namespace {

// A row that is longer is followed by another: SQLite's rows end at 10^9 bytes, and whoever reads
// one holds it whole.
constexpr std::size_t kRowBytes = 4u << 20;

constexpr std::string_view kEnd = "]]\n";

// The most bytes that an integer takes, with a character after it.
constexpr std::size_t kIntegerBytes = 21;

// Of one limit.
constexpr std::size_t kNumbers = 7;

bool NeedsEscape(char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }

// Writes into memory that is known to suffice: the committer writes a million buckets a second.
class Pen {
 public:
  explicit Pen(char* at) : at_(at) {}
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

std::size_t MostQuoted(std::string_view text) { return 6 * text.size() + 2; }

std::size_t MostLimit(std::string_view name) {
  return MostQuoted(name) + 3 + kNumbers * kIntegerBytes;
}

// Appends at most `most` bytes, which `write` puts.
template <class Write>
void AppendWith(std::string& out, std::size_t most, Write&& write) {
  const std::size_t size = out.size();
  if (out.capacity() < size + most) out.reserve(2 * (size + most));
  out.resize_and_overwrite(size + most, [&](char* data, std::size_t) {
    Pen pen(data + size);
    write(pen);
    return static_cast<std::size_t>(pen.at() - data);
  });
}

void PutLimit(Pen& pen, std::string_view name, const Meter& meter) {
  pen.Quote(name);
  pen.Put(std::string_view(":["));
  const Quota& quota = meter.quota;
  for (const std::int64_t number :
       {meter.tokens, meter.remainder, meter.consumed, quota.capacity, quota.amount}) {
    pen.Put(number);
    pen.Put(',');
  }
  pen.Put(quota.period);
  if (meter.remainder_period != quota.period) {
    pen.Put(',');
    pen.Put(meter.remainder_period);
  }
  pen.Put(']');
}

}  // namespace

void AppendQuoted(std::string& out, std::string_view text) {
  AppendWith(out, MostQuoted(text), [&](Pen& pen) { pen.Quote(text); });
}

void AppendLimits(std::string& out, const BucketRecord& record) {
  std::size_t most = 2;
  for (const std::string& name : record.names) most += MostLimit(name) + 1;
  AppendWith(out, most, [&](Pen& pen) {
    for (std::size_t i = 0; i < record.names.size(); ++i) {
      pen.Put(i == 0 ? '{' : ',');
      PutLimit(pen, record.names[i], record.bucket.meters[i]);
    }
    pen.Put('}');
  });
}

// `rest` puts what follows the key, at most `most` bytes.
template <class Rest>
void ChangeBatch::Append(const BucketKey& key, std::size_t most, Rest&& rest) {
  if (rows_.empty() || rows_.back().size() >= kRowBytes) rows_.emplace_back();
  std::string& row = rows_.back();
  const bool first = row.empty();
  if (!first) row.resize(row.size() - kEnd.size() + 1);
  most += MostQuoted(key.entity) + MostQuoted(key.resource) + kIntegerBytes + 8;
  AppendWith(row, most, [&](Pen& pen) {
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

void ChangeBatch::Add(const Target& target, const Bucket* bucket) {
  if (bucket == nullptr) return AddRemoved(target.key);
  std::size_t most = kIntegerBytes + 4;
  for (const Limit& limit : target.limits) most += MostLimit(limit.name) + 1;
  Append(target.key, most, [&](Pen& pen) {
    pen.Put(',');
    pen.Put(bucket->time.value);
    pen.Put(',');
    for (std::size_t i = 0; i < target.limits.size(); ++i) {
      pen.Put(i == 0 ? '{' : ',');
      PutLimit(pen, target.limits[i].name, bucket->meters[i]);
    }
    pen.Put('}');
  });
}

void ChangeBatch::AddRemoved(const BucketKey& key) {
  Append(key, 0, [](Pen&) {});
}

void ChangeBatch::Clear() {
  // One row's memory is kept for the next batch.
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
