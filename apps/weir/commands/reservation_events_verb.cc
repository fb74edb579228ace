// weir reservation events: releases slots when events report that their resources have ended.
#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <optional>

#include "apps/weir/commands/reservation_verbs.h"
#include "apps/weir/files.h"
#include "apps/weir/options.h"
#include "apps/weir/reserve/event_lines.h"
#include "apps/weir/reserve/event_report.h"
#include "weir/base/rng.h"
#include "weir/events/event_releaser.h"
#include "weir/events/sqs_queue.h"
#include "weir/events/sqs_source.h"
#include "weir/events/sqs_wire.h"
#include "weir/runtime/await.h"
#include "weir/telemetry/repeated_event.h"

namespace weir::app {
namespace {

struct EventOptions {
  std::string rules;
  std::optional<SqsQueue> queue;
  bool metrics = false;
};

EventReleaserOptions OptionsFor(Context& context) {
  return {.seed = SystemSeed(), .log = &context.log()};
}

/// Collects and logs the reports of a queue's source. The callbacks run on the source's thread, at
/// most one at a time.
class QueueReports {
 public:
  QueueReports(Log& log, const Clock& clock) : log_(log), clock_(clock) {}

  void OnNotice(const SqsNotice& notice) {
    const std::string& id = notice.message_id;
    if (notice.is_abandoned)
      failures_.Note(fmt::format("message {}: {}", id, notice.error.message));
    const std::optional<std::int64_t> suppressed_before = event_.ShouldWrite(clock_.Now());
    if (!suppressed_before) return;
    const LogField fields[] = {
        {"message_id", id}, {"message", notice.error.message}, {"suppressed", *suppressed_before}};
    log_.Write(LogLevel::kWarning, "events.failed", fields);
  }
  void OnEnded(const Error& error) {
    end_ = error;
    has_ended_ = true;
  }

  bool has_ended() const { return has_ended_; }
  /// Call both after the source has stopped.
  const FailureTally& failures() const { return failures_; }
  const std::optional<Error>& end() const { return end_; }

 private:
  Log& log_;
  const Clock& clock_;
  RepeatedEvent event_{std::chrono::seconds(10)};
  FailureTally failures_;
  std::optional<Error> end_;
  std::atomic<bool> has_ended_ = false;
};

void WaitForEnd(const ProcessContext& process, const QueueReports& reports) {
  while (!process.interrupted() && !reports.has_ended()) PauseBetweenChecks(process.scheduler);
}

// Tasks of the slots' scheduler call the source, which uses the connection. They must finish before
// the connection is destroyed.
void AwaitTasks(Scheduler& scheduler) {
  [[maybe_unused]] const Status ran = Await<void>(
      [&](Done<void> done) { scheduler.Post([done = std::move(done)]() mutable { done({}); }); });
}

Result<Exit> ReadUntilEnd(const EventOptions& given, const EventReleaser& releaser,
                          SqsSource& source, const QueueReports& reports, Context& context) {
  WEIR_RETURN_IF_ERROR(source.Start());
  WaitForEnd(context.process(), reports);
  WEIR_RETURN_IF_ERROR(Await<void>([&](auto done) { source.Stop(std::move(done)); }));
  const EventReading reading{.releaser = releaser, .source = &source, .metrics = given.metrics};
  WEIR_ASSIGN_OR_RETURN(const Exit exit, ReportEvents(context, reading, reports.failures()));
  if (!reports.end()) return exit;
  return Fail(reports.end()->code, fmt::format("{}: {}", given.queue->url, reports.end()->message));
}

Result<Exit> ReadQueue(const EventOptions& given, const EventRules& rules,
                       const OpenedReservations& opened, Context& context) {
  const ProcessContext& process = context.process();
  WEIR_ASSIGN_OR_RETURN(
      const auto connection,
      ConnectSqs(*given.queue, {.log = &context.log()}, process.clock, HostEnvironmentOf(process)));
  QueueReports reports(context.log(), process.clock);
  auto releaser =
      std::make_unique<EventReleaser>(rules, opened.backend, opened.scheduler, OptionsFor(context));
  auto source = std::make_unique<SqsSource>(
      connection->client(), connection->scheduler(),
      [&taker = *releaser](std::string_view body, std::optional<UnixMillis> sent,
                           EventProgress progress) { taker.Take(body, sent, std::move(progress)); },
      SqsSourceOptions{.queue_url = given.queue->url,
                       .seed = SystemSeed(),
                       .notice = [&](const SqsNotice& notice) { reports.OnNotice(notice); },
                       .ended = [&](const Error& error) { reports.OnEnded(error); }});
  const auto exit = ReadUntilEnd(given, *releaser, *source, reports, context);
  source.reset();
  releaser.reset();
  AwaitTasks(opened.scheduler);
  return exit;
}

Result<Exit> Events(const EventOptions& options, Context& context, const EventRules& rules,
                    const OpenedReservations& opened) {
  if (options.queue) return ReadQueue(options, rules, opened, context);
  EventReleaser releaser(rules, opened.backend, opened.scheduler, OptionsFor(context));
  return ReadEventLines(options.metrics, releaser, opened.scheduler, context);
}

Result<EventRules> ReadRules(const EventOptions& options) {
  WEIR_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.rules));
  return ReadEventRules(text, options.rules);
}

}  // namespace

void AddReservationEvents(CLI::App& group, Action& chosen,
                          const WithReservations& with_reservations) {
  auto options = std::make_shared<EventOptions>();
  CLI::App& verb = AddVerb(
      group, "events",
      "Release slots when events report that their resources have ended; reads JSON lines on "
      "stdin, or an SQS queue",
      options, chosen,
      [with_reservations](const EventOptions& given, Context& context) -> Result<Exit> {
        WEIR_ASSIGN_OR_RETURN(const EventRules rules, ReadRules(given));
        return with_reservations(context, [&](const OpenedReservations& opened) {
          return Events(given, context, rules, opened);
        });
      });
  verb.add_option("--rules", options->rules,
                  "the rules that recognize events of ended resources (YAML)")
      ->required()
      ->option_text("FILE");
  AddParsed(verb, "--sqs", options->queue, ParseQueueUrl,
            "receive events from this Amazon SQS queue, until a signal arrives")
      ->option_text("URL");
  verb.add_flag("--metrics", options->metrics,
                "also print the metrics of the events at the end, as Prometheus reads them");
}

}  // namespace weir::app
