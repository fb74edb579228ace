#include "apps/weir/kinesis_put.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "apps/weir/progress.h"
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
    Count(number, std::move(cause));
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
    std::ranges::sort(outcome.causes, {}, &FailureCause::first_line);
    outcome.latency = latency_.Snapshot();
  }

 private:
  /// Lines that failed for one reason share an entry; reasons beyond kMostCauses have none.
  void Count(std::uint64_t number, std::string cause) WEIR_REQUIRES(mutex_) {
    const auto same = std::ranges::find(causes_, cause, &FailureCause::text);
    if (same != causes_.end()) {
      same->first_line = std::min(same->first_line, number);
      ++same->lines;
    } else if (causes_.size() < kMostCauses) {
      causes_.push_back({std::move(cause), number, 1});
    }
  }

  Histogram latency_;
  mutable Mutex mutex_;
  std::uint64_t failed_ WEIR_GUARDED_BY(mutex_) = 0;
  std::vector<FailureCause> causes_ WEIR_GUARDED_BY(mutex_);
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
    outcome_.interrupted = world_.interrupted();
    tally_->Fill(outcome_);
    WEIR_RETURN_IF_ERROR(read);
    if (input_.failed_lines != nullptr && !input_.failed_lines->flush()) {
      return Fail(Code::kUnavailable, "cannot write the lines that failed to their file");
    }
    if (gave_up_) return NeverReached();
    return std::move(outcome_);
  }

 private:
  using Got = LineReader::Got;

  Instant Now() const { return world_.clock.Now(); }

  Status ReadLines() {
    outcome_.read_all = false;
    while (!Stops()) {
      const Got got = input_.lines.Next();
      if (got == Got::kEnd) {
        outcome_.read_all = !world_.interrupted();
        break;
      }
      // The signal, and not the input, may have ended it.
      if (!input_.lines.complete() && world_.interrupted()) break;
      ++outcome_.records;
      outcome_.bytes += input_.lines.line().size();
      if (got == Got::kLine) {
        PutLine();
      } else {
        tally_->OnFailed(number(), TooLong(), std::nullopt);
      }
      KeepFailed();
      Show();
    }
    if (!input_.lines.broken()) return {};
    return Fail(Code::kUnavailable,
                fmt::format("cannot read standard input after line {}", outcome_.records));
  }

  std::string TooLong() const {
    return fmt::format("it has more than the {} bytes of a record{}", input_.lines.longest(),
                       input_.failed_lines == nullptr ? ", and is not kept" : "");
  }

  tl::unexpected<Error> NeverReached() const {
    return Fail(Code::kUnavailable,
                fmt::format("cannot reach {}{}: none of {} lines is stored", port_.watch->name(),
                            cause_.empty() ? "" : ", " + cause_, outcome_.records));
  }

  /// True: a signal came, or the service never answered. Asked again and again.
  bool Stops() {
    WatchEndpoint();
    return gave_up_ || world_.interrupted();
  }

  void WatchEndpoint() {
    const auto silence = port_.watch == nullptr ? std::nullopt : port_.watch->Look();
    if (!silence || silence->length < kReportSilence) {
      reported_ = false;
      return;
    }
    cause_ = silence->cause;
    gave_up_ = gave_up_ || (silence->always && silence->length >= kGiveUp);
    if (!std::exchange(reported_, true)) {
      progress_.Note(fmt::format("cannot reach {}, retrying{}", port_.watch->name(),
                                 cause_.empty() ? "" : ": " + cause_));
    }
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
    while (!put && put.error().code == Code::kResourceExhausted && !Stops()) {
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
    while (!Stops() && waits()) {
      KeepFailed();
      Show();
    }
    if (!gave_up_ && world_.interrupted()) {
      progress_.Note(
          fmt::format("interrupted: what was read has {} s to be stored; another "
                      "signal ends this at once",
                      kLastFlush.count()));
    }
    port_.close(Deadline::After(world_.clock, gave_up_ ? nanoseconds(0) : kLastFlush));
  }

  void KeepFailed() {
    const std::vector<std::string> lines = tally_->TakeFailedLines();
    for (const std::string& line : lines) *input_.failed_lines << line << '\n';
    if (!lines.empty()) input_.failed_lines->flush();
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
  bool reported_ = false;  ///< the silence that lasts
  bool gave_up_ = false;
  std::string cause_;  ///< of the last silence
  PutOutcome outcome_;
  const std::shared_ptr<Tally> tally_ = std::make_shared<Tally>();
};

}  // namespace

Result<PutOutcome> PutLines(const PutPort& port, const PutInput& input, const World& world) {
  return PutRun(port, input, world).Run();
}

}  // namespace weir::app
