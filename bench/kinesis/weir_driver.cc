// Puts records with Weir and prints the time and CPU time.
//
// usage: weir_bench_kinesis ENDPOINT COUNT     credentials: as AWS's SDKs find them
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "bench/cpu_seconds.h"
#include "weir/backends/open.h"
#include "weir/kinesis/connection.h"
#include "weir/kinesis/producer.h"

namespace weir::bench {
namespace {

// The workload; keep it equal to workload.py.
constexpr std::size_t kSize = 200;
constexpr std::size_t kPool = std::size_t{1} << 23;
constexpr std::uint64_t kSeed = 0x9E3779B97F4A7C15;
constexpr std::size_t kOutstanding = 50'000;

std::string MakePool() {
  static_assert(std::endian::native == std::endian::little);
  std::string pool(kPool + kSize, '\0');
  std::uint64_t state = kSeed;
  for (std::size_t at = 0; at < pool.size(); at += sizeof(state)) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    std::memcpy(pool.data() + at, &state, sizeof(state));
  }
  return pool;
}

std::array<std::string, 256> MakeKeys() {
  std::array<std::string, 256> keys;
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = fmt::format("pk-{}", i);
  return keys;
}

kinesis::ProducerConfig Config() {
  kinesis::ProducerConfig config;
  config.rate_limit_percent = 10'000;  // far beyond the rate of the benchmark
  config.record_max_buffered_time = milliseconds(100);
  config.max_outstanding_records = kOutstanding;
  config.verify_certificate = false;
  return config;
}

kinesis::ConnectionOptions Where(const std::string& endpoint,
                                 const kinesis::ProducerConfig& config) {
  kinesis::ConnectionOptions options = kinesis::ConnectionFor(config);
  options.region = "us-east-1";
  options.endpoint_url = endpoint;
  options.content_type = kinesis::ContentType(kinesis::WireFormat::kCbor);
  return options;
}

class Driver {
 public:
  Driver(kinesis::Producer& producer, kinesis::Producer::Stream& stream)
      : producer_(producer), stream_(stream) {}

  /// Returns how many records were stored.
  Result<std::uint64_t> PutAll(std::uint64_t first, std::uint64_t count) {
    stored_ = 0;
    for (std::uint64_t i = first; i < first + count; ++i) {
      kinesis::Record record;
      record.partition_key = keys_[i % keys_.size()];
      record.data = pool_.substr(i % kPool, kSize);
      WEIR_RETURN_IF_ERROR(producer_.Put(
          stream_, std::move(record),
          [this](const kinesis::RecordResult& result) { stored_ += result.stored ? 1 : 0; }));
    }
    WEIR_RETURN_IF_ERROR(producer_.Flush(Deadline::Never()));
    return stored_;
  }

 private:
  kinesis::Producer& producer_;
  kinesis::Producer::Stream& stream_;
  const std::string pool_ = MakePool();
  const std::array<std::string, 256> keys_ = MakeKeys();
  std::atomic<std::uint64_t> stored_ = 0;
};

Status Measure(const std::string& endpoint, std::uint64_t count) {
  const SystemClock clock;
  const kinesis::ProducerConfig config = Config();
  WEIR_ASSIGN_OR_RETURN(const auto connection,
                        kinesis::Connect(Where(endpoint, config), clock, ProcessEnvironment()));
  kinesis::Producer producer({connection->client(), connection->scheduler()}, config, kSeed);
  WEIR_ASSIGN_OR_RETURN(kinesis::Producer::Stream* const stream,
                        producer.Open({.name = "bench", .arn = ""}));
  Driver driver(producer, *stream);
  WEIR_RETURN_IF_ERROR(driver.PutAll(0, count / 10));
  const Instant begun = clock.Now();
  const double before = CpuSeconds();
  WEIR_ASSIGN_OR_RETURN(const std::uint64_t stored, driver.PutAll(count / 10, count));
  const double cpu = CpuSeconds() - before;
  const std::chrono::duration<double> wall = clock.Now() - begun;
  fmt::print(R"({{"records": {}, "stored": {}, "wall_s": {:.6f}, "cpu_s": {:.6f}}})"
             "\n",
             count, stored, wall.count(), cpu);
  return {};
}

int Main(int argc, char** argv) {
  std::uint64_t count = 0;
  if (argc == 3) std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), count);
  if (count == 0) {
    std::cerr << "usage: weir_bench_kinesis ENDPOINT COUNT\n";
    return 2;
  }
  const Status measured = Measure(argv[1], count);
  if (!measured) std::cerr << "weir_bench_kinesis: " << measured.error().message << '\n';
  return measured ? 0 : 1;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) { return weir::bench::Main(argc, argv); }
