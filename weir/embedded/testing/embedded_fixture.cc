#include "weir/embedded/testing/embedded_fixture.h"

#include <fmt/format.h>

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

namespace weir {
namespace {

constexpr Deadline kNever = Deadline::Never();

// Runs scheduled tasks until the call has completed.
template <class T, class Start>
Result<T> RunUntilCompleted(sim::SimScheduler& scheduler, Start&& start) {
  auto received = std::make_shared<std::optional<Result<T>>>();
  start(Done<T>([received](Result<T> result) {
    EXPECT_FALSE(*received) << "answered twice";
    received->emplace(std::move(result));
  }));
  while (!*received && scheduler.RunNext()) continue;
  if (!*received) return Fail(Code::kInternal, "the call was never answered");
  return **std::move(received);
}

}  // namespace

Status EmbeddedClient::Open(const EmbeddedOptions& options) {
  auto opened = OpenEmbedded(path_, scheduler_, options);
  if (!opened) return Fail(opened.error());
  backend_ = *std::move(opened);
  return {};
}

Status EmbeddedClient::Close() {
  if (!backend_) return {};
  Status closed = backend_->Close();
  backend_.reset();
  return closed;
}

Result<Decision> EmbeddedClient::Acquire(const std::vector<Charge>& charges) {
  return RunUntilCompleted<Decision>(scheduler_, [&](Done<Decision> done) {
    backend_->buckets().Acquire(charges, now(), kNever, std::move(done));
  });
}

Status EmbeddedClient::Adjust(const std::vector<Charge>& charges, bool stores_limits) {
  AdjustTerms terms = AdjustId{.high = 1, .low = ++adjusts_};
  terms.stores_limits = stores_limits;
  return RunUntilCompleted<void>(scheduler_, [&](Done<void> done) {
    backend_->buckets().Adjust(charges, terms, now(), kNever, std::move(done));
  });
}

Status EmbeddedClient::Apply(std::vector<ConfigChange> changes) {
  return RunUntilCompleted<void>(scheduler_, [&](Done<void> done) {
    backend_->config().Apply(std::move(changes), kNever, std::move(done));
  });
}

std::optional<BucketRecord> EmbeddedClient::Read(const BucketKey& key) {
  using Records = std::vector<std::optional<BucketRecord>>;
  const std::vector<BucketKey> keys = {key};
  auto read = RunUntilCompleted<Records>(scheduler_, [&](Done<Records> done) {
    backend_->buckets().Read(keys, kNever, std::move(done));
  });
  EXPECT_TRUE(read) << read.error().message;
  return read ? std::move(read->front()) : std::nullopt;
}

std::vector<BucketRecord> EmbeddedClient::List() {
  auto page = RunUntilCompleted<Page<BucketRecord>>(scheduler_, [&](Done<Page<BucketRecord>> done) {
    backend_->buckets().List({}, {.cursor = {}, .limit = SIZE_MAX}, kNever, std::move(done));
  });
  EXPECT_TRUE(page) << page.error().message;
  return page ? std::move(page->items) : std::vector<BucketRecord>();
}

std::vector<UsageSnapshot> EmbeddedClient::Usage(const std::string& entity, UsageWindow window) {
  UsageFilter filter;
  filter.entity = entity;
  filter.window = window;
  auto page = RunUntilCompleted<Page<UsageSnapshot>>(scheduler_, [&](auto done) {
    backend_->usage().List(filter, {.cursor = {}, .limit = 1000}, kNever, std::move(done));
  });
  EXPECT_TRUE(page) << page.error().message;
  return page ? std::move(page->items) : std::vector<UsageSnapshot>();
}

std::int64_t EmbeddedClient::Balance(const TargetPtr& target, std::size_t limit) {
  std::optional<BucketRecord> record = Read(target->key);
  if (!record) return target->limits[limit].quota.capacity;
  Refill(record->bucket, now());
  return record->bucket.meters[limit].tokens;
}

void EmbeddedClient::Commit() {
  const std::uint64_t before = backend_->stats().commits;
  while (backend_->stats().commits == before && scheduler_.RunNext()) continue;
}

std::string EmbeddedClient::CopyAsKilled() {
  const std::string copy = path_ + ".killed" + std::to_string(++copies_);
  for (const std::string suffix : {"", "-wal", "-journal", "-lock"}) {
    if (FileExists(path_ + suffix)) WriteFile(copy + suffix, ReadFile(path_ + suffix));
  }
  return copy;
}

std::int64_t SumOf(const std::vector<UsageSnapshot>& usage, const std::string& limit) {
  std::int64_t sum = 0;
  for (const UsageSnapshot& one : usage) {
    const auto used = one.used.find(limit);
    if (used != one.used.end()) sum += used->second;
  }
  return sum;
}

std::vector<std::string> UsageThatDiffers(EmbeddedClient& client) {
  std::vector<std::string> differing;
  for (const BucketRecord& record : client.List()) {
    const auto months = client.Usage(record.key.entity, UsageWindow::kMonthly);
    for (std::size_t i = 0; i < record.names.size(); ++i) {
      const std::int64_t consumed = record.bucket.meters[i].consumed;
      const std::int64_t whole = consumed / kMillitokens - (consumed % kMillitokens < 0 ? 1 : 0);
      const std::int64_t used = SumOf(months, record.names[i]);
      if (used == whole) continue;
      differing.push_back(fmt::format("{}: usage {}, bucket {}", record.key.entity, used, whole));
    }
  }
  return differing;
}

Limit Still(const std::string& name, std::int64_t tokens) {
  return {name, {.capacity = tokens * kMillitokens, .amount = 1, .period = kMaxPeriodMillis}};
}

TargetPtr StillTarget(const std::string& entity, std::int64_t tokens) {
  return MakeTarget({.entity = entity, .resource = "gpt-4"}, {Still("rpm", tokens)});
}

Charge Take(const TargetPtr& target, std::int64_t tokens) {
  Charge charge{target, std::vector<std::int64_t>(target->limits.size())};
  charge.amounts.front() = tokens * kMillitokens;
  return charge;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  std::string content(static_cast<std::size_t>(std::max<std::streamoff>(in.tellg(), 0)), '\0');
  in.seekg(0).read(content.data(), static_cast<std::streamsize>(content.size()));
  return content;
}

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

bool FileExists(const std::string& path) { return std::filesystem::exists(path); }

std::vector<std::string> RunSql(const std::string& path, const std::string& sql) {
  sqlite3* connection = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &connection), SQLITE_OK);
  std::vector<std::string> rows;
  const auto append = [](void* out, int columns, char** values, char**) {
    std::string row;
    for (int i = 0; i < columns; ++i) {
      if (i > 0) row += '|';
      if (values[i] != nullptr) row += values[i];
    }
    static_cast<std::vector<std::string>*>(out)->push_back(row);
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(connection, sql.c_str(), append, &rows, nullptr), SQLITE_OK)
      << sqlite3_errmsg(connection);
  sqlite3_close(connection);
  return rows;
}

}  // namespace weir
