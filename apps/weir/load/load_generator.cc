#include "apps/weir/load/load_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <system_error>
#include <thread>

#include "apps/weir/load/ack_log.h"
#include "apps/weir/terminal/progress.h"
#include "weir/base/mutex.h"
#include "weir/base/rng.h"

namespace weir::app {
namespace {

constexpr std::chrono::seconds kLoadStoreWait{30};
/// The maximum delay before a stop is noticed.
constexpr milliseconds kSlice{10};

// One run: each worker thread calls MakeDecision until Run sets stop_, after WatchRun.
class LoadRun {
 public:
  LoadRun(Limiter& limiter, const LoadOptions& options, const ProcessContext& process)
      : limiter_(limiter), options_(options), process_(process), clock_(process.clock) {
    if (options.zipf) zipf_ = std::make_unique<Zipf>(options.entities.size(), *options.zipf);
  }

  Result<LoadReport> Run() {
    if (!options_.acknowledged.empty()) {
      WEIR_ASSIGN_OR_RETURN(acknowledged_, AckLog::Open(options_.acknowledged));
    }
    // Installs the signal handlers before the first result, which may be a caller's cue to send a
    // signal.
    if (process_.interrupted()) return MakeReport();
    start_ = clock_.Now();
    std::vector<std::jthread> workers;
    const Status started = StartWorkers(workers);
    if (started) WatchRun();
    stop_ = true;
    workers.clear();
    if (!started) return Fail(started.error());
    return MakeReport();
  }

 private:
  Status StartWorkers(std::vector<std::jthread>& workers) {
    workers.reserve(options_.workers);
    try {
      for (std::uint64_t i = 0; i < options_.workers; ++i) {
        workers.emplace_back([this, i] { RunWorker(i); });
      }
    } catch (const std::system_error& error) {
      return Fail(Code::kUnavailable,
                  fmt::format("only {} of {} workers can be started: {}", workers.size(),
                              options_.workers, error.code().message()));
    }
    return {};
  }

  void RunWorker(std::uint64_t worker) {
    Rng rng(options_.seed * 1'000'003 + worker);
    while (AwaitTurn()) MakeDecision(rng);
  }

  /// Waits until the worker's turn at the configured rate. Returns false on a stop.
  bool AwaitTurn() {
    if (!options_.rate) return !stop_.load(std::memory_order_relaxed);
    const auto turn = static_cast<double>(turns_.fetch_add(1, std::memory_order_relaxed));
    const double seconds = turn * 1000 / static_cast<double>(*options_.rate);
    const Instant due = start_ + nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
    while (!stop_.load(std::memory_order_relaxed)) {
      const nanoseconds left = due - clock_.Now();
      if (left <= nanoseconds(0)) return true;
      std::this_thread::sleep_for(std::min<nanoseconds>(left, kSlice));
    }
    return false;
  }

  // One decision, with its adjust and commit if it is admitted.
  void MakeDecision(Rng& rng) {
    const std::uint64_t count = options_.entities.size();
    const std::string entity = options_.entities.At(zipf_ ? zipf_->Draw(rng) : rng.Below(count));
    const AcquireRequest request{.entity = entity,
                                 .resource = options_.resource,
                                 .amounts = options_.amounts,
                                 .limits = options_.limits};
    const Instant before = clock_.Now();
    Result<Outcome> outcome = limiter_.Acquire(request, Deadline::At(before + kLoadStoreWait));
    latency_.Record((clock_.Now() - before).count());
    if (!outcome) return CountError(outcome.error());
    (outcome->admitted() ? admitted_ : refused_).fetch_add(1, std::memory_order_relaxed);
    if (!outcome->admitted()) return;
    const Status spent = SettleLease(entity, *std::move(outcome));
    if (!spent) CountError(spent.error());
  }

  Status SettleLease(const std::string& entity, Outcome outcome) {
    if (outcome.unprotected()) {
      unprotected_.fetch_add(1, std::memory_order_relaxed);
      return {};
    }
    Lease lease = std::move(outcome).lease();
    WEIR_RETURN_IF_ERROR(Acknowledge("take", entity, options_.amounts));
    if (!options_.adjust.empty()) {
      WEIR_RETURN_IF_ERROR(lease.Adjust(options_.adjust));
      WEIR_RETURN_IF_ERROR(Acknowledge("adjust", entity, options_.adjust));
    }
    return lease.Commit();
  }

  // Writes a line after the store has acknowledged the operation, and never before.
  Status Acknowledge(std::string_view op, const std::string& entity, const Amounts& amounts) {
    if (!acknowledged_) return {};
    return acknowledged_->Write({clock_.WallNow(), op, entity, options_.resource, amounts});
  }

  void CountError(const Error& error) {
    errors_.fetch_add(1, std::memory_order_relaxed);
    const MutexLock lock(mutex_);
    if (!first_error_) first_error_ = error;
    if (error.code == Code::kInvalidArgument) stop_ = true;
  }

  // Waits for the end of the run, shows its progress, and stops the workers.
  void WatchRun() {
    const Instant end = start_ + options_.duration;
    Instant shown_at = start_;
    ProgressLine progress(process_);
    while (!stop_ && clock_.Now() < end && !process_.interrupted()) {
      std::this_thread::sleep_for(std::min<nanoseconds>(end - clock_.Now(), kSlice));
      if (clock_.Now() - shown_at < std::chrono::seconds(1)) continue;
      shown_at = clock_.Now();
      progress.Show(fmt::format("{} decisions", admitted_ + refused_));
    }
  }

  LoadReport MakeReport() {
    const MutexLock lock(mutex_);
    return {.admitted = admitted_,
            .unprotected = unprotected_,
            .refused = refused_,
            .errors = errors_,
            .first_error = first_error_,
            .interrupted = process_.interrupted(),
            .elapsed = clock_.Now() - start_,
            .latency = latency_.Snapshot(),
            .limiter = limiter_.stats()};
  }

  Limiter& limiter_;
  const LoadOptions& options_;
  const ProcessContext& process_;
  const Clock& clock_;
  std::unique_ptr<Zipf> zipf_;
  std::unique_ptr<AckLog> acknowledged_;
  Instant start_;

  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> turns_ = 0;
  std::atomic<std::uint64_t> admitted_ = 0;
  std::atomic<std::uint64_t> unprotected_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::atomic<std::uint64_t> errors_ = 0;
  Histogram latency_;

  Mutex mutex_;
  std::optional<Error> first_error_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace

Result<LoadReport> RunLoad(Limiter& limiter, const LoadOptions& options,
                           const ProcessContext& process) {
  return LoadRun(limiter, options, process).Run();
}

}  // namespace weir::app
