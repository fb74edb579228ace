#include "weir/events/event_releaser.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "weir/base/mutex.h"

namespace weir {
namespace {

constexpr std::string_view kClosed = "the releaser was closed";

std::string_view NameOf(UnreleasedResource::Why why) {
  using enum UnreleasedResource::Why;
  return why == kUnknown ? "unknown" : why == kGivenUp ? "given_up" : "failed";
}

EventReleaserOptions ForBackend(EventReleaserOptions options, const ReservationBackend& backend) {
  if (!backend.HasOtherClients()) options.release.retry_waits.clear();
  return options;
}

}  // namespace

/// The driver of an EventReleasePlan. Tasks of the scheduler make the steps of the plan and carry
/// them out, one after the other. The lock guards the plan and the counters, which stats() and Take
/// use on any thread; no callback runs under it.
class EventReleaser::State : public std::enable_shared_from_this<State> {
 public:
  State(EventRules rules, ReservationBackend& backend, Scheduler& scheduler,
        EventReleaserOptions options)
      : rules_(std::move(rules)),
        backend_(backend),
        scheduler_(scheduler),
        options_(ForBackend(std::move(options), backend)),
        log_(options_.log != nullptr ? *options_.log : NoLog()),
        plan_(options_.release, options_.seed) {}
  ~State();

  void Take(std::string_view event, std::optional<UnixMillis> sent, EventProgress progress);
  EventReleaserStats stats() const;

 private:
  using Plan = EventReleasePlan;

  /// Matches the event with the rules and counts it. The times of the result are store time.
  Result<std::optional<EndedResource>> MatchAndCount(std::string_view event,
                                                     std::optional<UnixMillis> sent);

  /// Returns whether this is the first event that lacks the id of its rule.
  bool CountMatch(const EventMatch& match);
  void LogWithoutId(std::size_t rule);

  // Called by tasks of the scheduler only.

  /// Adds a matched end to the plan.
  void AddEnd(EndedResource ended, EventProgress progress);
  void OnResult(Plan::Ticket ticket, const Result<std::size_t>& result);
  void CarryOut(Plan::Step step);
  /// Calls `settled` and `over` as the step says.
  void RunCallbacks(Plan::Step& step);
  void LogReleased(const ReleasedResource& resource);
  void LogUnreleased(const UnreleasedResource& resource);
  /// Sends a request to the store.
  void RequestRelease(const Plan::Ask& ask);
  /// Sets the timer of the plan, or removes it.
  void SetTimer(std::optional<Instant> wake);

  Instant Now() const { return scheduler_.clock().Now(); }

  const EventRules rules_;
  ReservationBackend& backend_;
  Scheduler& scheduler_;
  const EventReleaserOptions options_;
  Log& log_;

  mutable Mutex mutex_;
  Plan plan_ WEIR_GUARDED_BY(mutex_);
  EventReleaserStats stats_ WEIR_GUARDED_BY(mutex_);
  std::set<std::size_t> rules_without_id_ WEIR_GUARDED_BY(mutex_);  ///< those that were logged

  // Used by tasks of the scheduler only.
  std::map<Plan::Ticket, EventProgress> taken_;  ///< the ends that are taken and not over
  std::optional<std::pair<Instant, TimerId>> timer_;
};

EventReleaser::State::~State() {
  if (timer_) scheduler_.Cancel(timer_->second);
  for (auto& [ticket, progress] : taken_) {
    if (progress.settled) progress.settled(Fail(Code::kCancelled, std::string(kClosed)));
  }
}

Result<std::optional<EndedResource>> EventReleaser::State::MatchAndCount(
    std::string_view event, std::optional<UnixMillis> sent) {
  // Both clocks are read once and together. Otherwise copies of one event would have different
  // times of the end.
  const UnixMillis wall = scheduler_.clock().WallNow();
  const UnixMillis now = backend_.OwnTime().value_or(wall);
  auto matched = MatchEvent(rules_, event, std::min(sent.value_or(wall), wall));
  if (!matched) {
    const MutexLock lock(mutex_);
    ++stats_.seen;
    ++stats_.bad;
    return Fail(std::move(matched.error()));
  }
  if (auto& ended = matched->ended) {
    ended->ended_at = now - (wall - ended->ended_at);
    ended->remember_until = now + options_.remember;
  }
  if (CountMatch(*matched)) LogWithoutId(*matched->without_id);
  return std::move(matched->ended);
}

bool EventReleaser::State::CountMatch(const EventMatch& match) {
  const MutexLock lock(mutex_);
  ++stats_.seen;
  if (match.ended) ++stats_.matched;
  if (!match.without_id) return false;
  ++stats_.without_id;
  return rules_without_id_.insert(*match.without_id).second;
}

// A path with a typing error leads to no id in any event, and nothing else would show it.
void EventReleaser::State::LogWithoutId(std::size_t rule) {
  const std::string path = fmt::format("{}", fmt::join(rules_.rules[rule].id, "."));
  constexpr std::string_view kMessage =
      "the rule's conditions hold for an event that has no number or text at the rule's id path; "
      "expected the path in the event, with its upper and lower case";
  const LogField fields[] = {
      {"rule", static_cast<std::int64_t>(rule + 1)}, {"path", path}, {"message", kMessage}};
  log_.Write(LogLevel::kWarning, "events.without_id", fields);
}

void EventReleaser::State::Take(std::string_view event, std::optional<UnixMillis> sent,
                                EventProgress progress) {
  auto matched = MatchAndCount(event, sent);
  if (!matched) return progress.settled(Fail(std::move(matched.error())));
  if (!*matched) return progress.settled(false);
  scheduler_.Post([weak = weak_from_this(), ended = **std::move(matched),
                   progress = std::move(progress)]() mutable {
    if (const auto self = weak.lock()) return self->AddEnd(std::move(ended), std::move(progress));
    progress.settled(Fail(Code::kCancelled, std::string(kClosed)));
  });
}

void EventReleaser::State::AddEnd(EndedResource ended, EventProgress progress) {
  Result<Plan::Ticket> ticket;
  Plan::Step step;
  {
    const MutexLock lock(mutex_);
    ticket = plan_.Take(std::move(ended), Now());
    step = plan_.OnWake(Now());
  }
  if (!ticket) {
    CarryOut(std::move(step));
    return progress.settled(Fail(std::move(ticket.error())));
  }
  taken_.emplace(*ticket, std::move(progress));
  CarryOut(std::move(step));
}

void EventReleaser::State::OnResult(Plan::Ticket ticket, const Result<std::size_t>& result) {
  Plan::Step step;
  {
    const MutexLock lock(mutex_);
    step = plan_.OnResult(ticket, result, Now());
  }
  CarryOut(std::move(step));
}

void EventReleaser::State::CarryOut(Plan::Step step) {
  RunCallbacks(step);
  SetTimer(step.wake);
  for (const Plan::Ask& ask : step.asks) RequestRelease(ask);
  for (const ReleasedResource& resource : step.released) LogReleased(resource);
  for (const UnreleasedResource& resource : step.unreleased) {
    if (options_.unreleased) options_.unreleased(resource);
    LogUnreleased(resource);
  }
}

void EventReleaser::State::LogReleased(const ReleasedResource& resource) {
  const LogField fields[] = {{"resource_id", resource.ended.resource_id},
                             {"slots", static_cast<std::int64_t>(resource.slots)}};
  log_.Write(LogLevel::kInfo, "events.released", fields);
}

// Most services report every end, also of resources that never had a slot, so kUnknown is logged as
// debug.
void EventReleaser::State::LogUnreleased(const UnreleasedResource& resource) {
  const bool is_usual = resource.why == UnreleasedResource::Why::kUnknown;
  const std::string message = resource.error ? resource.error->message : "";
  const LogField fields[] = {{"resource_id", resource.ended.resource_id},
                             {"cause", NameOf(resource.why)},
                             {"message", message}};
  log_.Write(is_usual ? LogLevel::kDebug : LogLevel::kWarning, "events.not_released", fields);
}

// If an end is settled and over in one step, `settled` gets false or the error, and `over` is not
// called.
void EventReleaser::State::RunCallbacks(Plan::Step& step) {
  std::map<Plan::Ticket, EventProgress> over;
  for (const Plan::Settled& end : step.over) over.insert(taken_.extract(end.ticket));
  for (Plan::Settled& settled : step.settled) {
    const auto at = over.find(settled.ticket);
    const bool is_over = at != over.end();
    EventProgress& progress = is_over ? at->second : taken_.at(settled.ticket);
    auto on_settled = std::exchange(progress.settled, nullptr);
    if (is_over) over.erase(at);
    settled.status ? on_settled(!is_over) : on_settled(Fail(std::move(settled.status.error())));
  }
  for (Plan::Settled& end : step.over) {
    const auto at = over.find(end.ticket);
    if (at != over.end()) at->second.over(std::move(end.status));
  }
}

void EventReleaser::State::RequestRelease(const Plan::Ask& ask) {
  const Clock& clock = scheduler_.clock();
  backend_.slots().ReleaseResource(
      ask.ended, backend_.Now(clock), Deadline::After(clock, options_.call_timeout),
      [weak = weak_from_this(), ticket = ask.ticket](Result<std::size_t> result) {
        const auto self = weak.lock();
        if (self == nullptr) return;
        self->scheduler_.Post([weak, ticket, result = std::move(result)] {
          if (const auto alive = weak.lock()) alive->OnResult(ticket, result);
        });
      });
}

void EventReleaser::State::SetTimer(std::optional<Instant> wake) {
  if (timer_ && wake == timer_->first) return;
  if (timer_) scheduler_.Cancel(timer_->second);
  timer_.reset();
  if (!wake) return;
  const TimerId id = scheduler_.At(*wake, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->timer_.reset();
    Plan::Step step;
    {
      const MutexLock lock(self->mutex_);
      step = self->plan_.OnWake(self->Now());
    }
    self->CarryOut(std::move(step));
  });
  timer_ = {*wake, id};
}

EventReleaserStats EventReleaser::State::stats() const {
  const MutexLock lock(mutex_);
  EventReleaserStats stats = stats_;
  stats.release = plan_.stats();
  return stats;
}

EventReleaser::EventReleaser(EventRules rules, ReservationBackend& backend, Scheduler& scheduler,
                             EventReleaserOptions options)
    : state_(std::make_shared<State>(std::move(rules), backend, scheduler, std::move(options))) {}

EventReleaser::~EventReleaser() = default;

void EventReleaser::Take(std::string_view event, std::optional<UnixMillis> sent,
                         EventProgress progress) {
  state_->Take(event, sent, std::move(progress));
}

EventReleaserStats EventReleaser::stats() const { return state_->stats(); }

}  // namespace weir
