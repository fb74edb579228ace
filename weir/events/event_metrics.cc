#include "weir/events/event_metrics.h"

#include <array>

namespace weir {
namespace {

constexpr const char kEvents[] = "weir_events_total";
constexpr const char kEventsHelp[] =
    "Events by kind: bad (not an event, or its id is invalid), end (a resource has ended), "
    "without_id (a rule's conditions hold, but the event lacks the id), other (no rule applies).";
constexpr const char kEnds[] = "weir_events_ends_total";
constexpr const char kEndsHelp[] =
    "Ends of resources by outcome: released, unknown (no slot was found), repeated (an end of the "
    "same resource was pending), given_up and refused (too many ends were pending), failed.";
constexpr const char kMessages[] = "weir_events_messages_total";
constexpr const char kMessagesHelp[] =
    "Messages of the queue: received, deleted, bad (not events; left in the queue), failed (failed "
    "handlings of other messages), not_deleted (handled, and received again).";
constexpr const char kErrors[] = "weir_events_queue_errors_total";
constexpr const char kErrorsHelp[] = "Calls on the queue that failed.";

template <class Stats>
struct EventRow {
  const char* name;
  const char* help;
  const char* label;
  const char* value;
  std::uint64_t (*read)(const Stats&);
};
using ReleaserRow = EventRow<EventReleaserStats>;
using SourceRow = EventRow<SqsStats>;

constexpr std::array kReleaserRows = {
    ReleaserRow{kEvents, kEventsHelp, "kind", "bad",
                [](const EventReleaserStats& s) { return s.bad; }},
    ReleaserRow{kEvents, kEventsHelp, "kind", "end",
                [](const EventReleaserStats& s) { return s.matched; }},
    ReleaserRow{kEvents, kEventsHelp, "kind", "without_id",
                [](const EventReleaserStats& s) { return s.without_id; }},
    ReleaserRow{
        kEvents, kEventsHelp, "kind", "other",
        [](const EventReleaserStats& s) { return s.seen - s.bad - s.matched - s.without_id; }},
    ReleaserRow{kEnds, kEndsHelp, "outcome", "released",
                [](const EventReleaserStats& s) { return s.release.released; }},
    ReleaserRow{kEnds, kEndsHelp, "outcome", "unknown",
                [](const EventReleaserStats& s) { return s.release.unknown; }},
    ReleaserRow{kEnds, kEndsHelp, "outcome", "repeated",
                [](const EventReleaserStats& s) { return s.release.repeated; }},
    ReleaserRow{kEnds, kEndsHelp, "outcome", "given_up",
                [](const EventReleaserStats& s) { return s.release.given_up; }},
    ReleaserRow{kEnds, kEndsHelp, "outcome", "refused",
                [](const EventReleaserStats& s) { return s.release.refused; }},
    ReleaserRow{kEnds, kEndsHelp, "outcome", "failed",
                [](const EventReleaserStats& s) { return s.release.failed; }},
    ReleaserRow{"weir_events_slots_released_total",
                "Slots that were released because their resource ended.", nullptr, nullptr,
                [](const EventReleaserStats& s) { return s.release.slots; }},
};

constexpr std::array kSourceRows = {
    SourceRow{kMessages, kMessagesHelp, "fate", "received",
              [](const SqsStats& s) { return s.received; }},
    SourceRow{kMessages, kMessagesHelp, "fate", "deleted",
              [](const SqsStats& s) { return s.deleted; }},
    SourceRow{kMessages, kMessagesHelp, "fate", "bad", [](const SqsStats& s) { return s.bad; }},
    SourceRow{kMessages, kMessagesHelp, "fate", "failed",
              [](const SqsStats& s) { return s.failed; }},
    SourceRow{kMessages, kMessagesHelp, "fate", "not_deleted",
              [](const SqsStats& s) { return s.not_deleted; }},
    SourceRow{kErrors, kErrorsHelp, "call", "receive",
              [](const SqsStats& s) { return s.receive_errors; }},
    SourceRow{kErrors, kErrorsHelp, "call", "delete",
              [](const SqsStats& s) { return s.delete_errors; }},
    SourceRow{kErrors, kErrorsHelp, "call", "hide",
              [](const SqsStats& s) { return s.hide_errors; }},
};

template <class Rows, class Owner>
Status AddRows(Registry& registry, const Rows& rows, const Owner& owner) {
  for (const auto& row : rows) {
    MetricName name{.name = row.name, .help = row.help};
    if (row.label != nullptr) name.labels = {{row.label, row.value}};
    WEIR_RETURN_IF_ERROR(registry.AddCounter(
        std::move(name), [&owner, read = row.read] { return read(owner.stats()); }));
  }
  return {};
}

}  // namespace

Status RegisterMetrics(Registry& registry, const EventReleaser& releaser) {
  WEIR_RETURN_IF_ERROR(AddRows(registry, kReleaserRows, releaser));
  return registry.AddGauge(
      {.name = "weir_events_pending", .help = "Pending ends for which no slot was released."},
      [&releaser] { return static_cast<double>(releaser.stats().release.pending); });
}

Status RegisterMetrics(Registry& registry, const SqsSource& source) {
  WEIR_RETURN_IF_ERROR(AddRows(registry, kSourceRows, source));
  return registry.AddGauge(
      {.name = "weir_events_messages_held", .help = "Messages whose events are not over."},
      [&source] { return static_cast<double>(source.stats().held); });
}

}  // namespace weir
