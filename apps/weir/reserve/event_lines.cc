#include "apps/weir/reserve/event_lines.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include "apps/weir/kinesis/line_reader.h"
#include "apps/weir/reserve/event_report.h"
#include "weir/base/mutex.h"
#include "weir/runtime/await.h"

namespace weir::app {
namespace {

constexpr std::size_t kLongestEvent = 1 << 20;
constexpr milliseconds kBetweenChecks{100};
// With one more open line, the releaser would discard the oldest pending end.
constexpr std::size_t kMaxOpen = ReleaseOptions{}.max_pending - 1;

/// The lines whose events are not finished. Thread-safe.
class OpenLines {
 public:
  void Open(std::size_t line) {
    const MutexLock lock(mutex_);
    open_.insert(line);
  }
  void Close(std::size_t line, const Status& over) {
    const MutexLock lock(mutex_);
    open_.erase(line);
    if (!over) lost_.Note(fmt::format("line {}: {}", line, over.error().message));
  }
  std::size_t count() const {
    const MutexLock lock(mutex_);
    return open_.size();
  }
  /// Returns the failures: lines for which not all searches were made, including the lines that are
  /// still open.
  FailureTally LostLines() const {
    const MutexLock lock(mutex_);
    FailureTally lost = lost_;
    for (const std::size_t line : open_) {
      lost.Note(fmt::format("line {}: interrupted before the last search for its slots", line));
    }
    return lost;
  }

 private:
  mutable Mutex mutex_;
  std::set<std::size_t> open_ WEIR_GUARDED_BY(mutex_);
  FailureTally lost_ WEIR_GUARDED_BY(mutex_);
};

Status TakeLine(EventReleaser& releaser, const LineReader& lines,
                const std::shared_ptr<OpenLines>& open) {
  const std::size_t line = lines.number();
  open->Open(line);
  const Result<bool> is_repeated = Await<bool>([&](Done<bool> settled) {
    releaser.Take(lines.line(), std::nullopt,
                  {.settled = std::move(settled),
                   .over = [open, line](const Status& over) { open->Close(line, over); }});
  });
  if (!is_repeated.value_or(false)) open->Close(line, {});
  return is_repeated.transform([](bool) {});
}

// Returns why lines may be left unread, or an empty text.
std::string_view WhyUnread(const LineReader& lines, const Context& context) {
  if (lines.broken()) return "standard input cannot be read";
  return context.process().interrupted() ? "interrupted: lines may be left unread" : "";
}

// Waits until at most this number of lines is open, or for an interrupt.
void AwaitUntilOpenAre(std::size_t most, const OpenLines& open, Scheduler& scheduler,
                       const Context& context) {
  while (open.count() > most && !context.process().interrupted()) PauseBetweenChecks(scheduler);
}

// Waits for the open lines: events from standard input are stored nowhere else.
void AwaitOpen(const OpenLines& open, Scheduler& scheduler, Context& context) {
  if (open.count() == 0) return;
  context.process().err
      << fmt::format(
             "weir: slots of {} ended resources are searched for again, for up to 3 "
             "minutes: other clients may bind them late\n",
             open.count())
      << std::flush;
  AwaitUntilOpenAre(0, open, scheduler, context);
}

}  // namespace

void PauseBetweenChecks(Scheduler& scheduler) {
  [[maybe_unused]] const Status looked = Await<void>([&](Done<void> done) {
    scheduler.At(scheduler.clock().Now() + kBetweenChecks,
                 [done = std::move(done)]() mutable { done({}); });
  });
}

Result<Exit> ReadEventLines(bool metrics, EventReleaser& releaser, Scheduler& scheduler,
                            Context& context) {
  LineReader lines(context.process().in, kLongestEvent);
  const auto open = std::make_shared<OpenLines>();
  FailureTally failures;
  for (auto got = lines.Next(); got != LineReader::Got::kEnd; got = lines.Next()) {
    if (context.process().interrupted()) break;
    Status taken = Fail(Code::kInvalidArgument, "it is longer than a megabyte");
    if (got == LineReader::Got::kLine) {
      if (lines.line().empty()) continue;
      AwaitUntilOpenAre(kMaxOpen, *open, scheduler, context);
      taken = TakeLine(releaser, lines, open);
    }
    if (!taken) failures.Note(fmt::format("line {}: {}", lines.number(), taken.error().message));
  }
  const std::string_view unread = WhyUnread(lines, context);
  AwaitOpen(*open, scheduler, context);
  failures.Add(open->LostLines());
  return ReportEvents(context, {.releaser = releaser, .metrics = metrics, .unread = unread},
                      failures);
}

}  // namespace weir::app
