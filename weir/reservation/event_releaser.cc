#include "weir/reservation/event_releaser.h"

#include <map>
#include <utility>

#include "weir/base/mutex.h"

namespace weir {
namespace {

constexpr std::string_view kClosed = "the releaser was closed";

}  // namespace

/// Steps are made and carried out by tasks of the scheduler only, one after the other.
class EventReleaser::State : public std::enable_shared_from_this<State> {
 public:
  State(EventRules rules, ReservationBackend& backend, Scheduler& scheduler,
        EventReleaserOptions options)
      : rules_(std::move(rules)),
        backend_(backend),
        scheduler_(scheduler),
        options_(std::move(options)),
        plan_(options_.release, options_.seed) {}
  ~State();

  void Take(std::string_view event, Done<void> done);
  EventReleaserStats stats() const;

 private:
  using Plan = EventReleasePlan;

  Result<std::optional<EndedResource>> Match(std::string_view event);
  void Begin(EndedResource ended, Done<void> done);
  void OnAnswer(Plan::Ticket ticket, const Result<std::size_t>& answer);
  void CarryOut(Plan::Step step);
  void Ask(const Plan::Ask& ask);
  void Arm(std::optional<Instant> wake);

  Instant Now() const { return scheduler_.clock().Now(); }

  const EventRules rules_;
  ReservationBackend& backend_;
  Scheduler& scheduler_;
  const EventReleaserOptions options_;

  mutable Mutex mutex_;
  Plan plan_ WEIR_GUARDED_BY(mutex_);
  EventReleaserStats stats_ WEIR_GUARDED_BY(mutex_);

  // Of the scheduler's tasks alone.
  std::map<Plan::Ticket, Done<void>> dones_;
  std::optional<std::pair<Instant, TimerId>> timer_;
};

EventReleaser::State::~State() {
  if (timer_) scheduler_.Cancel(timer_->second);
  for (auto& [ticket, done] : dones_) done(Fail(Code::kCancelled, std::string(kClosed)));
}

Result<std::optional<EndedResource>> EventReleaser::State::Match(std::string_view event) {
  const Clock& clock = scheduler_.clock();
  const UnixMillis wall = clock.WallNow();
  auto matched = MatchEvent(rules_, event, wall);
  if (matched && *matched) {
    const UnixMillis now = backend_.Now(clock);
    EndedResource& ended = **matched;
    ended.ended_at = now - (wall - ended.ended_at);
    ended.remember_until = now + options_.remember;
  }
  const MutexLock lock(mutex_);
  ++stats_.seen;
  if (!matched) ++stats_.bad;
  if (matched && *matched) ++stats_.matched;
  return matched;
}

void EventReleaser::State::Take(std::string_view event, Done<void> done) {
  auto matched = Match(event);
  if (!matched) return done(Fail(std::move(matched.error())));
  if (!*matched) return done({});
  scheduler_.Post(
      [weak = weak_from_this(), ended = **std::move(matched), done = std::move(done)]() mutable {
        if (const auto self = weak.lock()) return self->Begin(std::move(ended), std::move(done));
        done(Fail(Code::kCancelled, std::string(kClosed)));
      });
}

void EventReleaser::State::Begin(EndedResource ended, Done<void> done) {
  Result<Plan::Ticket> ticket;
  Plan::Step step;
  {
    const MutexLock lock(mutex_);
    ticket = plan_.Take(std::move(ended), Now());
    step = plan_.OnWake(Now());
  }
  if (!ticket) {
    CarryOut(std::move(step));
    return done(Fail(std::move(ticket.error())));
  }
  dones_.emplace(*ticket, std::move(done));
  CarryOut(std::move(step));
}

void EventReleaser::State::OnAnswer(Plan::Ticket ticket, const Result<std::size_t>& answer) {
  Plan::Step step;
  {
    const MutexLock lock(mutex_);
    step = plan_.OnAnswer(ticket, answer, Now());
  }
  CarryOut(std::move(step));
}

void EventReleaser::State::CarryOut(Plan::Step step) {
  Arm(step.wake);
  for (const Plan::Ask& ask : step.asks) Ask(ask);
  for (Plan::Settled& settled : step.settled) {
    dones_.extract(settled.ticket).mapped()(std::move(settled.status));
  }
  for (const UnreleasedResource& resource : step.unreleased) {
    if (options_.unreleased) options_.unreleased(resource);
  }
}

void EventReleaser::State::Ask(const Plan::Ask& ask) {
  const Clock& clock = scheduler_.clock();
  backend_.slots().ReleaseResource(
      ask.ended, backend_.Now(clock), Deadline::After(clock, options_.call_timeout),
      [weak = weak_from_this(), ticket = ask.ticket](Result<std::size_t> answer) {
        const auto self = weak.lock();
        if (self == nullptr) return;
        self->scheduler_.Post([weak, ticket, answer = std::move(answer)] {
          if (const auto alive = weak.lock()) alive->OnAnswer(ticket, answer);
        });
      });
}

void EventReleaser::State::Arm(std::optional<Instant> wake) {
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

void EventReleaser::Take(std::string_view event, Done<void> done) {
  state_->Take(event, std::move(done));
}

EventReleaserStats EventReleaser::stats() const { return state_->stats(); }

}  // namespace weir
