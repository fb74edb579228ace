// weir reservation events: frees slots as events tell that their resources have ended.
#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <optional>

#include "apps/weir/files.h"
#include "apps/weir/json.h"
#include "apps/weir/line_reader.h"
#include "apps/weir/options.h"
#include "apps/weir/reservation_verbs.h"
#include "weir/base/rng.h"
#include "weir/reservation/event_releaser.h"
#include "weir/reservation/sqs_queue.h"
#include "weir/reservation/sqs_source.h"
#include "weir/reservation/sqs_wire.h"
#include "weir/runtime/await.h"
#include "weir/telemetry/repeated_event.h"

namespace weir::app {
namespace {

constexpr std::size_t kLongestEvent = 1 << 20;
constexpr milliseconds kLook{100};  // whether to stop

struct EventOptions {
  std::string rules;
  std::optional<SqsQueue> queue;
};

/// What did not go well, and the first of it.
struct Trouble {
  std::uint64_t count = 0;
  std::string first;

  void Note(std::string what) {
    if (count++ == 0) first = std::move(what);
  }
};

Json ToJson(const EventReleaserStats& stats) {
  return {{"seen", stats.seen},           {"bad", stats.bad},
          {"matched", stats.matched},     {"released", stats.release.released},
          {"slots", stats.release.slots}, {"failed", stats.release.failed + stats.release.refused}};
}

std::string TextOf(const EventReleaserStats& stats) {
  return fmt::format("{} events, {} of them no events; {} tell of an end, {} slots released\n",
                     stats.seen, stats.bad, stats.matched, stats.release.slots);
}

Result<Exit> Answer(Context& context, const EventReleaser& releaser, const Trouble& trouble) {
  context.Answer(ToJson(releaser.stats()), TextOf(releaser.stats()));
  if (trouble.count == 0) return Exit::kDone;
  context.Warn(
      fmt::format("{} events were not dealt with, the first: {}", trouble.count, trouble.first));
  return Exit::kFailed;
}

Result<Exit> ReadLines(EventReleaser& releaser, Context& context) {
  LineReader lines(context.world().in, kLongestEvent);
  Trouble trouble;
  for (auto got = lines.Next(); got != LineReader::Got::kEnd; got = lines.Next()) {
    Status taken = Fail(Code::kInvalidArgument, "it is longer than a megabyte");
    if (got == LineReader::Got::kLine) {
      if (lines.line().empty()) continue;
      taken = Await<void>([&](auto done) { releaser.Take(lines.line(), std::move(done)); });
    }
    if (!taken) trouble.Note(fmt::format("line {}: {}", lines.number(), taken.error().message));
  }
  if (lines.broken()) trouble.Note("standard input cannot be read");
  return Answer(context, releaser, trouble);
}

/// Collects what the source of a queue reports, and logs it. The callbacks run on the source's
/// thread, at most one at a time.
class QueueReports {
 public:
  QueueReports(Log& log, const Clock& clock) : log_(log), clock_(clock) {}

  void OnNotice(const SqsNotice& notice) {
    const std::string& id = notice.message_id;
    trouble_.Note(fmt::format("{}{}{}", id, id.empty() ? "" : ": ", notice.error.message));
    const auto suppressed = event_.Take(clock_.Now());
    if (!suppressed) return;
    const LogField fields[] = {
        {"message_id", id}, {"message", notice.error.message}, {"suppressed", *suppressed}};
    log_.Write(LogLevel::kWarning, "events.failed", fields);
  }
  void OnEnded(const Error& error) {
    end_ = error;
    has_ended_ = true;
  }

  bool has_ended() const { return has_ended_; }
  /// Both after the source has stopped.
  const Trouble& trouble() const { return trouble_; }
  const std::optional<Error>& end() const { return end_; }

 private:
  Log& log_;
  const Clock& clock_;
  RepeatedEvent event_{std::chrono::seconds(10)};
  Trouble trouble_;
  std::optional<Error> end_;
  std::atomic<bool> has_ended_ = false;
};

void WaitForEnd(const World& world, const QueueReports& reports) {
  while (!world.interrupted() && !reports.has_ended()) {
    [[maybe_unused]] const Status looked = Await<void>([&](Done<void> done) {
      world.scheduler.At(world.clock.Now() + kLook,
                         [done = std::move(done)]() mutable { done({}); });
    });
  }
}

Result<Exit> ReadQueue(const SqsQueue& queue, EventReleaser& releaser, Context& context) {
  const World& world = context.world();
  WEIR_ASSIGN_OR_RETURN(const auto connection, ConnectSqs(queue, {.log = &context.log()},
                                                          world.clock, SurroundingsOf(world)));
  QueueReports reports(context.log(), world.clock);
  const SqsSourceOptions options{
      .queue_url = queue.url,
      .seed = SystemSeed(),
      .notice = [&](const SqsNotice& notice) { reports.OnNotice(notice); },
      .ended = [&](const Error& error) { reports.OnEnded(error); }};
  SqsSource source(
      connection->client(), connection->scheduler(),
      [&](std::string_view body, Done<void> done) { releaser.Take(body, std::move(done)); },
      options);
  WEIR_RETURN_IF_ERROR(source.Start());
  WaitForEnd(world, reports);
  WEIR_RETURN_IF_ERROR(Await<void>([&](auto done) { source.Stop(std::move(done)); }));
  if (reports.end()) {
    return Fail(reports.end()->code, fmt::format("{}: {}", queue.url, reports.end()->message));
  }
  return Answer(context, releaser, reports.trouble());
}

Result<Exit> Events(const EventOptions& options, Context& context, const EventRules& rules,
                    const OpenedReservations& opened) {
  EventReleaser releaser(rules, opened.backend, opened.scheduler, {.seed = SystemSeed()});
  if (options.queue) return ReadQueue(*options.queue, releaser, context);
  return ReadLines(releaser, context);
}

Result<EventRules> ReadRules(const EventOptions& options, Context& context) {
  context.failure = Exit::kUsage;
  WEIR_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.rules));
  WEIR_ASSIGN_OR_RETURN(EventRules rules, ReadEventRules(text, options.rules));
  context.failure = Exit::kFailed;
  return rules;
}

}  // namespace

void AddReservationEvents(CLI::App& group, Action& chosen,
                          const WithReservations& with_reservations) {
  auto options = std::make_shared<EventOptions>();
  CLI::App& verb = AddVerb(
      group, "events", "Free slots as events tell of their ends: JSON lines on stdin, or a queue",
      options, chosen,
      [with_reservations](const EventOptions& given, Context& context) -> Result<Exit> {
        WEIR_ASSIGN_OR_RETURN(const EventRules rules, ReadRules(given, context));
        return with_reservations(context, [&](const OpenedReservations& opened) {
          return Events(given, context, rules, opened);
        });
      });
  verb.add_option("--rules", options->rules, "which events tell of which end (YAML)")
      ->required()
      ->option_text("FILE");
  AddParsed(verb, "--sqs", options->queue, ParseQueueUrl,
            "take them from this queue of Amazon SQS, until a signal comes")
      ->option_text("URL");
}

}  // namespace weir::app
