#include "apps/weir/kinesis_put.h"

#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "apps/weir/json.h"
#include "apps/weir/progress.h"
#include "apps/weir/text.h"
#include "weir/base/mutex.h"

namespace weir::app {
namespace {

constexpr milliseconds kLook{200};

/// What the results of records add up to. They come on another thread than the lines.
class Tally {
 public:
  void OnStored(nanoseconds latency) { latency_.Record(latency.count()); }
  /// `line`: where it is to be kept.
  void OnFailed(std::uint64_t number, std::string cause, std::optional<std::string> line) {
    const MutexLock lock(mutex_);
    ++failed_;
    causes_.emplace(number, std::move(cause));
    if (causes_.size() > kMostCauses) causes_.erase(std::prev(causes_.end()));
    if (line) failed_lines_.push_back(*std::move(line));
  }

  std::uint64_t failed() const {
    const MutexLock lock(mutex_);
    return failed_;
  }
  std::vector<std::string> TakeFailedLines() {
    const MutexLock lock(mutex_);
    return std::exchange(failed_lines_, {});
  }
  void Fill(PutOutcome& outcome) const {
    const MutexLock lock(mutex_);
    outcome.failed = failed_;
    outcome.causes = causes_;
    outcome.latency = latency_.Snapshot();
  }

 private:
  Histogram latency_;
  mutable Mutex mutex_;
  std::uint64_t failed_ WEIR_GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, std::string> causes_ WEIR_GUARDED_BY(mutex_);
  std::vector<std::string> failed_lines_ WEIR_GUARDED_BY(mutex_);
};

std::string CauseOf(const kinesis::RecordResult& result) {
  const kinesis::Attempt* cause = result.attempts.LastCause();
  if (cause == nullptr && !result.attempts.kept().empty()) {
    cause = result.attempts.kept().back().get();
  }
  if (cause == nullptr) return "it was not stored";
  if (cause->message.empty()) return cause->code;
  return fmt::format("{}: {}", cause->code, cause->message);
}

class PutRun {
 public:
  PutRun(const PutPort& port, const PutInput& input, const World& world)
      : port_(port), input_(input), world_(world), progress_(world) {}

  Result<PutOutcome> Run() {
    const Instant begin = Now();
    const Status read = ReadLines();
    Finish();
    KeepFailed();
    outcome_.elapsed = Now() - begin;
    tally_->Fill(outcome_);
    WEIR_RETURN_IF_ERROR(read);
    if (input_.failed_lines != nullptr && !input_.failed_lines->flush()) {
      return Fail(Code::kUnavailable, "cannot write the lines that failed to their file");
    }
    return std::move(outcome_);
  }

 private:
  using Got = LineReader::Got;

  Instant Now() const { return world_.clock.Now(); }

  Status ReadLines() {
    while (!world_.interrupted()) {
      const Got got = input_.lines.Next();
      if (got == Got::kEnd) break;
      ++outcome_.records;
      outcome_.bytes += input_.lines.line().size();
      if (got == Got::kLine) {
        PutLine();
      } else {
        tally_->OnFailed(number(), "it is too long for a record, and not kept", std::nullopt);
      }
      KeepFailed();
      Show();
    }
    if (!input_.lines.broken()) return {};
    return Fail(Code::kUnavailable,
                fmt::format("cannot read standard input after line {}", outcome_.records));
  }

  std::uint64_t number() const { return input_.lines.number(); }
  std::optional<std::string> Kept() const {
    if (input_.failed_lines == nullptr) return std::nullopt;
    return std::string(input_.lines.line());
  }

  void PutLine() {
    const Result<std::string> key = input_.keys.KeyOf(input_.lines.line());
    if (!key) return tally_->OnFailed(number(), key.error().message, Kept());
    Status put = Put(*key);
    while (!put && put.error().code == Code::kResourceExhausted && !world_.interrupted()) {
      Show();
      put = Put(*key);
    }
    if (!put) tally_->OnFailed(number(), put.error().message, Kept());
  }

  Status Put(const std::string& key) {
    kinesis::Record record;
    record.partition_key = key;
    record.data = input_.lines.line();
    const auto done = [tally = tally_, line = number(), kept = Kept(), begin = Now(),
                       &clock = world_.clock](const kinesis::RecordResult& result) {
      if (result.stored) return tally->OnStored(clock.Now() - begin);
      tally->OnFailed(line, CauseOf(result), kept);
    };
    return port_.put(std::move(record), done);
  }

  void Finish() {
    const auto waits = [&] {
      const Status flushed = port_.flush(Deadline::After(world_.clock, kLook));
      return !flushed && flushed.error().code == Code::kDeadlineExceeded;
    };
    while (!world_.interrupted() && waits()) {
      KeepFailed();
      Show();
    }
    port_.close(Deadline::After(world_.clock, kLastFlush));
  }

  void KeepFailed() {
    for (const std::string& line : tally_->TakeFailedLines()) *input_.failed_lines << line << '\n';
  }

  void Show() {
    if (Now() - shown_ < kLook) return;
    shown_ = Now();
    progress_.Show(fmt::format("{} records read, {} failed", outcome_.records, tally_->failed()));
  }

  const PutPort& port_;
  const PutInput& input_;
  const World& world_;
  ProgressLine progress_;
  Instant shown_{};
  PutOutcome outcome_;
  const std::shared_ptr<Tally> tally_ = std::make_shared<Tally>();
};

std::int64_t PerSecond(const PutOutcome& outcome) {
  const auto stored = static_cast<double>(outcome.records - outcome.failed);
  const double seconds = static_cast<double>(outcome.elapsed.count()) / 1e9;
  return seconds > 0 ? static_cast<std::int64_t>(stored / seconds) : 0;
}

nanoseconds Latency(const PutOutcome& outcome, double quantile) {
  return nanoseconds(outcome.latency.Quantile(quantile));
}

}  // namespace

Result<PutOutcome> PutLines(const PutPort& port, const PutInput& input, const World& world) {
  return PutRun(port, input, world).Run();
}

nlohmann::ordered_json ToJson(const PutReport& report) {
  const auto& [outcome, stats] = report;
  return {{"records", outcome.records},
          {"bytes", outcome.bytes},
          {"failed", outcome.failed},
          {"kinesis_records", stats.kinesis_records},
          {"requests", stats.requests},
          {"throttled", stats.throttled},
          {"retries", stats.retries},
          {"maybe_duplicates", stats.maybe_duplicate},
          {"p50_ms", MillisJson(Latency(outcome, 0.5))},
          {"p99_ms", MillisJson(Latency(outcome, 0.99))},
          {"records_per_s", PerSecond(outcome)}};
}

std::string TextOf(const PutReport& report) {
  const auto& [outcome, stats] = report;
  return fmt::format(
      "records   {}: stored {}, failed {}, perhaps twice {}\n"
      "bytes     {}\n"
      "sent      {} Kinesis records in {} requests, {} throttled, {} retries\n"
      "latency   p50 {} ms, p99 {} ms\n"
      "rate      {} records/s for {}\n",
      outcome.records, outcome.records - outcome.failed, outcome.failed, stats.maybe_duplicate,
      outcome.bytes, stats.kinesis_records, stats.requests, stats.throttled, stats.retries,
      FormatMillis(Latency(outcome, 0.5)), FormatMillis(Latency(outcome, 0.99)), PerSecond(outcome),
      FormatSeconds(std::chrono::duration_cast<milliseconds>(outcome.elapsed)));
}

std::string FailuresOf(const PutOutcome& outcome, const std::string& kept_in) {
  std::string text = fmt::format("{} of {} records failed", outcome.failed, outcome.records);
  std::string_view between = ": ";
  for (const auto& [line, cause] : outcome.causes) {
    text += fmt::format("{}line {}: {}", between, line, cause);
    between = "; ";
  }
  if (outcome.failed > outcome.causes.size()) text += "; ...";
  return text + (kept_in.empty() ? "; --failed-to FILE keeps such lines" : "; see " + kept_in);
}

}  // namespace weir::app
