// Drives a producer for tests that the command line cannot make, one input line for each step:
//
//   producer_driver bound ENDPOINT aggregated|separate DATA_BYTES BOUND_BYTES
//   producer_driver idle ENDPOINT STREAMS
//
// `bound` stores a record, waits for a line, puts records with their number as partition key until
// the buffer is full, waits for a line, closes. `idle` stores a record in each stream and waits for
// a line. Each step ends with a line of JSON on stdout.
#include <fmt/format.h>

#include <charconv>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "weir/backends/open.h"
#include "weir/base/time.h"
#include "weir/kinesis/connection.h"
#include "weir/kinesis/producer.h"

namespace weir::kinesis {
namespace {

constexpr std::chrono::seconds kClosing{90};

[[noreturn]] void Give(std::string_view message) {
  std::cerr << "producer_driver: " << message << '\n';
  std::exit(1);
}

std::int64_t Number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number <= 0)
    Give(fmt::format("'{}' should be a positive number", text));
  return number;
}

template <class T>
T Take(Result<T> result) {
  if (!result) Give(result.error().message);
  return *std::move(result);
}

void Say(const std::string& line) { std::cout << line << std::endl; }

void WaitForLine() {
  std::string line;
  std::getline(std::cin, line);
}

// The fake service has no limits; a request without a response is retried soon.
ProducerConfig Config(bool aggregated, std::int64_t bound) {
  ProducerConfig config;
  config.wire = WireFormat::kJson;
  config.aggregation_enabled = aggregated;
  config.shard_records_per_second = config.shard_bytes_per_second = 1'000'000'000;
  config.request_timeout = milliseconds(1'000);
  config.record_ttl = milliseconds(60'000);
  config.max_outstanding_bytes = bound;
  config.max_outstanding_records = 1'000'000'000;
  config.put_timeout = milliseconds(100);
  return config;
}

Record Numbered(std::uint64_t number, const std::string& data) {
  return {.partition_key = std::to_string(number), .data = data};
}

class Driver {
 public:
  Driver(std::string endpoint, const ProducerConfig& config)
      : connection_(
            Take(Connect({.endpoint_url = std::move(endpoint),
                          .content_type = std::string(ContentType(config.wire)),
                          .request_timeout = config.request_timeout,
                          .max_connections = static_cast<std::size_t>(config.max_connections)},
                         clock_, ProcessEnvironment()))),
        producer_({connection_->client(), connection_->scheduler()}, config, SystemSeed()) {}

  Producer::Stream& Open(const std::string& name) {
    Producer::Stream& stream = *Take(producer_.Open({.name = name, .arn = ""}));
    const auto first = Take(producer_.PutBlocking(stream, {.partition_key = "first", .data = "x"}));
    if (!first.stored) Give("the first record is not stored");
    return stream;
  }

  /// Puts until the buffer is full. If `most` records fit, nothing bounds the buffer.
  void Fill(Producer::Stream& stream, std::size_t data_bytes, std::uint64_t most) {
    const std::string data(data_bytes, 'x');
    for (std::uint64_t taken = 0; taken < most; ++taken) {
      const Status put = producer_.TryPut(stream, Numbered(taken, data), [](auto) {});
      if (!put) return Full(stream, Numbered(taken, data), put.error().code);
    }
    Give(fmt::format("{} records of {} bytes were taken", most, data_bytes));
  }

  void Close() {
    producer_.Close(Deadline::After(clock_, kClosing));
    const ProducerStats stats = producer_.stats();
    Say(fmt::format(R"({{"stored":{},"failed":{},"maybe_duplicate":{}}})", stats.stored,
                    stats.failed, stats.maybe_duplicate));
  }

 private:
  /// Expects that a put that waits is refused too, after its timeout.
  void Full(Producer::Stream& stream, Record next, Code refused) {
    const std::string taken = next.partition_key;
    const Status waited = producer_.Put(stream, std::move(next), [](auto) {});
    Say(fmt::format(R"({{"taken":{},"pending_bytes":{},"tried":"{}","waited":"{}"}})", taken,
                    producer_.pending_bytes(), CodeName(refused),
                    waited ? "ok" : CodeName(waited.error().code)));
  }

  SystemClock clock_;  // outlives the members below
  std::unique_ptr<ServiceConnection> connection_;
  Producer producer_;
};

int Bound(const std::vector<std::string>& words) {
  const std::int64_t data_bytes = Number(words[3]);
  const std::int64_t bound = Number(words[4]);
  Driver driver(words[1], Config(words[2] == "aggregated", bound));
  Producer::Stream& stream = driver.Open("bound");
  Say(R"({"ready":true})");
  WaitForLine();
  driver.Fill(stream, static_cast<std::size_t>(data_bytes),
              static_cast<std::uint64_t>(bound / data_bytes + 1));
  WaitForLine();
  driver.Close();
  return 0;
}

int Idle(const std::vector<std::string>& words) {
  Driver driver(words[1], ProducerConfig{.wire = WireFormat::kJson});
  for (std::int64_t n = Number(words[2]); n > 0; --n) driver.Open(fmt::format("stream{}", n));
  Say(R"({"ready":true})");
  WaitForLine();
  return 0;
}

int Run(const std::vector<std::string>& words) {
  if (words.size() == 5 && words[0] == "bound") return Bound(words);
  if (words.size() == 3 && words[0] == "idle") return Idle(words);
  Give("bound ENDPOINT aggregated|separate DATA_BYTES BOUND_BYTES, or idle ENDPOINT STREAMS");
}

}  // namespace
}  // namespace weir::kinesis

int main(int argc, char** argv) {
  return weir::kinesis::Run(std::vector<std::string>(argv + 1, argv + argc));
}
