// The client of `./dev bench rls`: calls ShouldRateLimit on connections of its own, from bytes that
// were encoded before.
//
// usage: weir_rls_client PORT [OPTION...]
//
// In a closed loop (without --rate) each result begins the next call. In an open loop calls begin
// at fixed times, whatever the server does, and times are measured from there. Prints one line of
// JSON: counts of the whole run, and times of the calls that were due after the warm-up.
//
// With --log, each decision is a line of FILE: the number of its key, the time at which the call
// was due and that of its result, both in microseconds of CLOCK_MONOTONIC, and `ok` or `over`. The
// lines are complete also if the server ends and this process with it.
#include <fmt/format.h>
#include <sys/epoll.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/cpu_seconds.h"
#include "bench/rls/connection.h"
#include "bench/rls/requests.h"
#include "weir/base/rng.h"

namespace weir::bench {
namespace {

using std::chrono::duration;
using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// What a server allows on one connection by default.
constexpr std::size_t kMaxStreams = 250;

struct Options {
  std::uint16_t port = 0;
  std::size_t connections = 4;
  std::size_t in_flight = 64;
  double seconds = 5;
  double warm_up = 0.5;
  double rate = 0;
  std::int64_t timeout_ms = 60'000;
  std::size_t keys = 1'000;
  std::size_t tight_of_ten = 0;
  std::string log;
  bool draws_keys = false;
  bool sleeps = false;
};

Options OptionsOf(int count, char** arguments) {
  Options options;
  CLI::App app("weir_rls_client");
  app.add_option("port", options.port)->required();
  app.add_option("--connections", options.connections)->check(CLI::PositiveNumber);
  app.add_option("--in-flight", options.in_flight, "in a closed loop, of all connections");
  app.add_option("--seconds", options.seconds, "after the warm-up");
  app.add_option("--warm-up", options.warm_up, "seconds");
  app.add_option("--rate", options.rate, "an open loop with so many calls a second");
  app.add_option("--timeout-ms", options.timeout_ms, "the deadline that the server is sent");
  app.add_option("--keys", options.keys)->check(CLI::PositiveNumber);
  app.add_option("--tight-of-ten", options.tight_of_ten, "of ten keys, those that are refused");
  app.add_option("--log", options.log, "a file for the decisions");
  app.add_flag("--draw-keys", options.draws_keys, "at random; else one after the other");
  app.add_flag("--sleep", options.sleeps,
               "between the calls of an open loop: leaves the core to others, calls are up to 1 ms "
               "late");
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));  // NOLINT: the program has one thread
  }
  return options;
}

struct Tally {
  std::uint64_t ok = 0;
  std::uint64_t over_limit = 0;
  std::uint64_t tight_ok = 0;   ///< of `ok`, those of the domain `tight`
  std::uint64_t deadline = 0;   ///< DEADLINE_EXCEEDED
  std::uint64_t exhausted = 0;  ///< RESOURCE_EXHAUSTED
  std::uint64_t errors = 0;     ///< all others
  std::uint64_t unsent = 0;     ///< every connection had kMaxStreams calls
  std::uint64_t late = 0;       ///< more than 5 ms after the deadline
  std::vector<float> times_us;  ///< of the calls that were due after the warm-up

  void Count(const CallResult& result, bool is_tight) {
    constexpr int kDeadlineExceeded = 4;
    constexpr int kResourceExhausted = 8;
    if (result.grpc_status == kDeadlineExceeded) {
      ++deadline;
    } else if (result.grpc_status == kResourceExhausted) {
      ++exhausted;
    } else if (result.grpc_status != 0 || result.verdict == Verdict::kNone) {
      ++errors;
    } else {
      const bool is_ok = result.verdict == Verdict::kOk;
      ++(is_ok ? ok : over_limit);
      if (is_ok && is_tight) ++tight_ok;
    }
  }
  std::uint64_t decisions() const { return ok + over_limit; }
};

/// The decisions of a run as lines of a file, or nothing without a path.
class DecisionLog {
 public:
  explicit DecisionLog(const std::string& path) {
    if (path.empty()) return;
    file_ = std::fopen(path.c_str(), "we");
    if (file_ == nullptr) {
      fmt::print(stderr, "weir_rls_client: {} cannot be written\n", path);
      std::exit(1);  // NOLINT: the program has one thread
    }
  }
  ~DecisionLog() {
    if (file_ != nullptr) std::fclose(file_);
  }
  DecisionLog(const DecisionLog&) = delete;
  DecisionLog& operator=(const DecisionLog&) = delete;

  void Add(const CallResult& result, SteadyTime now) {
    if (file_ == nullptr || result.verdict == Verdict::kNone) return;
    fmt::print(file_, "{} {} {} {}\n", result.key, MicrosOf(result.due), MicrosOf(now),
               result.verdict == Verdict::kOk ? "ok" : "over");
  }

 private:
  static std::int64_t MicrosOf(SteadyTime time) {
    return duration_cast<microseconds>(time.time_since_epoch()).count();
  }

  std::FILE* file_ = nullptr;  // std::exit writes its buffer
};

/// One run of the load.
class Load {
 public:
  explicit Load(const Options& options)
      : options_(options),
        messages_(RateLimitMessages(options.keys, options.tight_of_ten)),
        log_(options.log) {
    for (std::size_t i = 0; i < options.connections; ++i) {
      connections_.push_back(std::make_unique<RlsConnection>(
          ConnectToLoopback(options.port), "ratelimit", fmt::format("{}m", options.timeout_ms),
          [this](RlsConnection& connection, const CallResult& result) {
            OnResult(connection, result);
          }));
      epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLET,
                        .data = {.ptr = connections_.back().get()}};
      epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connections_.back()->fd(), &event);
    }
  }

  Tally Run() {
    const auto begin = steady_clock::now();
    measured_from_ = begin + Seconds(options_.warm_up);
    end_ = measured_from_ + Seconds(options_.seconds);
    next_ = begin;
    if (!is_open()) Fill(begin);
    // The last results have time until the deadline and some more.
    const auto give_up =
        end_ + milliseconds(std::min<std::int64_t>(options_.timeout_ms, 2'000)) + milliseconds(500);
    for (now_ = begin; now_ < give_up && (now_ < end_ || in_flight() > 0);) {
      if (is_open()) BeginDue();
      for (const auto& connection : connections_) connection->Flush();
      Wait();
    }
    tally_.errors += in_flight();
    return std::move(tally_);
  }

 private:
  static nanoseconds Seconds(double seconds) {
    return duration_cast<nanoseconds>(duration<double>(seconds));
  }
  bool is_open() const { return options_.rate > 0; }

  std::size_t in_flight() const {
    std::size_t sum = 0;
    for (const auto& connection : connections_) sum += connection->in_flight();
    return sum;
  }

  void Fill(SteadyTime now) {
    for (std::size_t i = 0; i < options_.in_flight; ++i) {
      SendNext(*connections_[i % connections_.size()], now);
    }
  }

  void BeginDue() {
    const nanoseconds interval = Seconds(1 / options_.rate);
    for (; next_ <= now_ && next_ < end_; next_ += interval) {
      RlsConnection& connection = *connections_[turn_++ % connections_.size()];
      if (connection.in_flight() >= kMaxStreams) {
        ++tally_.unsent;
      } else {
        SendNext(connection, next_);
      }
    }
  }

  void OnResult(RlsConnection& connection, const CallResult& result) {
    tally_.Count(result, IsTight(result.key, options_.tight_of_ten));
    log_.Add(result, now_);
    const duration<float, std::micro> took = now_ - result.due;
    if (took > milliseconds(options_.timeout_ms + 5)) ++tally_.late;
    if (result.due >= measured_from_) tally_.times_us.push_back(took.count());
    if (!is_open() && now_ < end_) SendNext(connection, now_);
  }

  // Without --sleep an open loop does not sleep: the time of a wake-up would be part of each
  // figure.
  void Wait() {
    std::array<epoll_event, 64> events;  // NOLINT: not initialized, since epoll_wait fills it
    const int longest_ms = is_open() ? (options_.sleeps ? 1 : 0) : 50;
    const int count = epoll_wait(epoll_.get(), events.data(), events.size(), longest_ms);
    now_ = steady_clock::now();
    for (std::size_t i = 0; std::cmp_less(i, count); ++i) {
      static_cast<RlsConnection*>(events.at(i).data.ptr)->Receive();
    }
  }

  void SendNext(RlsConnection& connection, SteadyTime due) {
    const std::size_t next = options_.draws_keys ? random_.Next() : message_++;
    const std::size_t key = next % messages_.size();
    connection.Send(messages_[key], key, due);
  }

  const Options options_;
  const std::vector<std::string> messages_;
  DecisionLog log_;
  transport::UniqueFd epoll_{epoll_create1(EPOLL_CLOEXEC)};
  std::vector<std::unique_ptr<RlsConnection>> connections_;
  Tally tally_;
  SteadyTime measured_from_;
  SteadyTime end_;
  SteadyTime next_;
  SteadyTime now_;
  std::size_t turn_ = 0;
  std::size_t message_ = 0;
  Rng random_{1};
};

float Quantile(const std::vector<float>& sorted, double quantile) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<std::size_t>(quantile * static_cast<double>(sorted.size() - 1))];
}

std::string JsonOf(Tally tally, double seconds) {
  std::vector<float>& times = tally.times_us;
  std::ranges::sort(times);
  const auto in_50_ms = std::ranges::upper_bound(times, 50'000.0F) - times.begin();
  return fmt::format(
      R"({{"decisions":{},"over_limit":{},"tight_ok":{},"deadline":{},"exhausted":{},"errors":{},)"
      R"("unsent":{},"late":{},"measured":{},"per_s":{:.0f},"p50_us":{:.0f},"p99_us":{:.0f},)"
      R"("max_us":{:.0f},"in_50_ms":{},"client_cpu_s":{:.3f}}})",
      tally.decisions(), tally.over_limit, tally.tight_ok, tally.deadline, tally.exhausted,
      tally.errors, tally.unsent, tally.late, times.size(),
      static_cast<double>(times.size()) / seconds, Quantile(times, 0.5), Quantile(times, 0.99),
      Quantile(times, 1), in_50_ms, CpuSeconds());
}

}  // namespace
}  // namespace weir::bench

int main(int count, char** arguments) {
  const weir::bench::Options options = weir::bench::OptionsOf(count, arguments);
  fmt::print("{}\n", weir::bench::JsonOf(weir::bench::Load(options).Run(), options.seconds));
}
