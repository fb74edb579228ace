#include "apps/weir/kinesis/kinesis_put.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "apps/weir/kinesis/put_tally.h"
#include "apps/weir/terminal/progress.h"

namespace weir::app {
namespace {

// The time between two polls for results, and between two displays of the progress.
constexpr milliseconds kPollInterval{200};

std::string CauseOf(const kinesis::RecordResult& result) {
  const kinesis::Attempt* cause = result.attempts.LastCause();
  if (cause == nullptr && !result.attempts.kept().empty()) {
    cause = result.attempts.kept().back().get();
  }
  if (cause == nullptr) return "it was not stored";
  if (cause->message.empty()) return cause->code;
  return fmt::format("{}: {}", cause->code, cause->message);
}

// One run. The thread of PutLines reads lines, puts them and stores failed ones. Results may arrive
// on other threads and reach the run only through the tally.
//
//   ReadLines --> PutLine --> port.put --> OnStored, OnFailed of the tally
//       |                                          |
//       v                                          v
//    FlushAndClose                          KeepFailed: write the failed lines in order
class PutRun {
 public:
  PutRun(const PutPort& port, const PutInput& input, const ProcessContext& process)
      : port_(port),
        input_(input),
        process_(process),
        progress_(process),
        tally_(std::make_shared<PutTally>(input.failed_lines != nullptr)) {
    if (input_.failed_lines != nullptr) {
      input_.lines.KeepTooLong([this]() -> std::ostream& { return ForTooLong(); });
    }
  }

  Result<PutOutcome> Run() {
    const Instant begin = Now();
    process_.watch_input([this] { return RunWhileIdle(); });
    const Status read = ReadLines();
    process_.watch_input({});
    FlushAndClose();
    KeepFailed();
    outcome_.elapsed = Now() - begin;
    outcome_.interrupted = process_.interrupted();
    tally_->FillOutcome(outcome_);
    WEIR_RETURN_IF_ERROR(read);
    if (!kept_all_ || !FlushFailed()) {
      return Fail(Code::kUnavailable, "cannot write the failed lines to their file");
    }
    if (gave_up_) outcome_.unreachable = UnreachableText();
    return std::move(outcome_);
  }

 private:
  using Got = LineReader::Got;

  Instant Now() const { return process_.clock.Now(); }

  Status ReadLines() {
    outcome_.read_all = false;
    while (!MustStop()) {
      const Got got = input_.lines.Next();
      if (got == Got::kEnd) {
        outcome_.read_all = !HasStopped();
        break;
      }
      // The signal, not the input, may have ended the line.
      if (!input_.lines.complete() && HasStopped()) break;
      ++outcome_.records;
      outcome_.bytes += input_.lines.line().size();
      if (got == Got::kLine) {
        PutLine();
      } else {
        tally_->OnFailed({.number = number(), .cause = TooLong()});
      }
      KeepFailed();
      ShowProgress();
    }
    if (!input_.lines.broken()) return {};
    return Fail(Code::kUnavailable,
                fmt::format("cannot read standard input after line {}", outcome_.records));
  }

  std::string TooLong() const {
    return fmt::format("it has more than the {} bytes of a record{}", input_.lines.longest(),
                       input_.failed_lines == nullptr ? ", and is not kept" : "");
  }

  std::string UnreachableText() const {
    return fmt::format("cannot reach {}{}", port_.watch->name(),
                       cause_.empty() ? "" : ", " + cause_);
  }

  /// Returns the stream for a line that is too long. Writes the failed lines before it first,
  /// unless the run has stopped.
  std::ostream& ForTooLong() {
    FlushWhile([this] { return !MustStop(); });
    KeepFailed();
    return input_.failed_lines();
  }

  /// Called while the reader waits for input. Returns whether it must stop.
  bool RunWhileIdle() {
    if (MustStop()) return true;
    KeepFailed();
    ShowProgress();
    return false;
  }

  /// Watches the endpoint. Returns whether a signal has arrived or the run has given up.
  bool MustStop() {
    WatchEndpoint();
    return HasStopped();
  }
  bool HasStopped() const { return gave_up_ || process_.interrupted(); }

  // Reports a service that does not respond, and gives up if it has never responded.
  void WatchEndpoint() {
    const auto outage = port_.watch == nullptr ? std::nullopt : port_.watch->CurrentOutage();
    if (!outage || outage->length < kReportSilence) {
      reported_ = false;
      return;
    }
    cause_ = outage->cause;
    gave_up_ = gave_up_ || (outage->never_reached && outage->length >= kGiveUpSilence);
    if (!std::exchange(reported_, true)) {
      progress_.Note(
          fmt::format("{} {}, retrying{}",
                      outage->server_error ? "only errors are received from" : "cannot reach",
                      port_.watch->name(), cause_.empty() ? "" : ": " + cause_));
    }
  }

  std::uint64_t number() const { return input_.lines.number(); }
  std::optional<std::string> LineToKeep() const {
    if (input_.failed_lines == nullptr) return std::nullopt;
    return std::string(input_.lines.line());
  }

  // Puts the line that was read last, and retries while the producer's buffer is full.
  void PutLine() {
    const Result<std::string> key = input_.keys.KeyOf(input_.lines.line());
    if (!key) return RecordFailure(key.error().message);
    tally_->OnRead(number());
    Status put = Put(*key);
    while (!put && put.error().code == Code::kResourceExhausted && !MustStop()) {
      ShowProgress();
      put = Put(*key);
    }
    if (!put) RecordFailure(put.error().message);
  }

  void RecordFailure(const std::string& cause) {
    tally_->OnFailed({.number = number(), .cause = cause, .line = LineToKeep()});
  }

  Status Put(const std::string& key) {
    kinesis::Record record;
    record.partition_key = key;
    record.data = input_.lines.line();
    const auto done = [tally = tally_, line = number(), kept = LineToKeep(), begin = Now(),
                       &clock = process_.clock](const kinesis::RecordResult& result) {
      if (result.stored) return tally->OnStored(line, clock.Now() - begin);
      tally->OnFailed({.number = line,
                       .cause = CauseOf(result),
                       .line = kept,
                       .maybe_stored = result.maybe_duplicate});
    };
    return port_.put(std::move(record), done);
  }

  /// Flushes until all lines have results, while `goes_on`.
  template <class GoesOn>
  void FlushWhile(GoesOn goes_on) {
    const auto waits = [&] {
      const Status flushed = port_.flush(Deadline::After(process_.clock, kPollInterval));
      return !flushed && flushed.error().code == Code::kDeadlineExceeded;
    };
    while (goes_on() && waits()) {
      KeepFailed();
      ShowProgress();
    }
  }

  // Waits for the remaining results, after an interruption for a limited time, and closes the port.
  void FlushAndClose() {
    FlushWhile([this] { return !MustStop(); });
    if (!gave_up_ && process_.interrupted()) {
      progress_.Note(
          fmt::format("interrupted: the lines that were read have {} s to be stored; another "
                      "signal ends this at once",
                      kLastFlush.count()));
      const Instant end = Now() + kLastFlush;
      FlushWhile([&] { return Now() < end && !process_.hurried(); });
    }
    port_.close(Deadline::After(process_.clock, nanoseconds(0)));
  }

  // Writes the failed lines that are next in order.
  void KeepFailed() {
    const std::vector<std::string> lines = tally_->TakeFailedLines();
    if (lines.empty()) return;
    std::ostream& file = input_.failed_lines();
    for (const std::string& line : lines) file << line << '\n';
    kept_all_ = kept_all_ && file.flush();
  }

  /// Also flushes lines that the reader wrote itself.
  bool FlushFailed() {
    if (input_.failed_lines == nullptr || tally_->failed() == 0) return true;
    return static_cast<bool>(input_.failed_lines().flush());
  }

  void ShowProgress() {
    if (Now() - shown_ < kPollInterval) return;
    shown_ = Now();
    progress_.Show(fmt::format("{} records read, {} failed", outcome_.records, tally_->failed()));
  }

  const PutPort& port_;
  const PutInput& input_;
  const ProcessContext& process_;
  ProgressLine progress_;
  Instant shown_{};
  bool reported_ = false;  ///< the current outage has been reported
  bool gave_up_ = false;
  std::string cause_;  ///< the cause of the last outage
  PutOutcome outcome_;
  bool kept_all_ = true;
  const std::shared_ptr<PutTally> tally_;
};

}  // namespace

Result<PutOutcome> PutLines(const PutPort& port, const PutInput& input,
                            const ProcessContext& process) {
  return PutRun(port, input, process).Run();
}

}  // namespace weir::app
