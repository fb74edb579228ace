#include "tests/simulation/event_daemon.h"

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace weir::simulation {
namespace {

constexpr char kJobRules[] = "rules:\n  - source: jobs\n    id: detail.id\n";

EventRules JobRules() {
  auto rules = ReadEventRules(kJobRules, "rules.yaml");
  if (!rules) std::abort();
  return *std::move(rules);
}

SqsSource::Handle HandleWith(EventReleaser& releaser, EventBug bug) {
  if (bug != EventBug::kDeletesBeforeSettled) {
    return [&releaser](std::string_view body, std::optional<UnixMillis> sent,
                       EventProgress progress) { releaser.Take(body, sent, std::move(progress)); };
  }
  return
      [&releaser](std::string_view body, std::optional<UnixMillis> sent, EventProgress progress) {
        progress.settled(false);
        releaser.Take(body, sent, {.settled = [](const auto&) {}, .over = [](const auto&) {}});
      };
}

}  // namespace

/// Stores an end only if it released no slot: a planted bug. A daemon calls only ReleaseResource.
class EventDaemon::Forgetful final : public ReservationBackend, public ReservationStore {
 public:
  explicit Forgetful(ReservationBackend& tables) : tables_(tables) {}

  ReservationStore& slots() override { return *this; }
  AccountLimitStore& limits() override { return tables_.limits(); }
  TokenStore& tokens() override { return tables_.tokens(); }
  std::optional<UnixMillis> OwnTime() const override { return tables_.OwnTime(); }
  std::string Describe() const override { return tables_.Describe(); }

  void ReleaseResource(const EndedResource& ended, UnixMillis now, Deadline deadline,
                       Done<std::size_t> done) override {
    EndedResource forgotten = ended;
    forgotten.remember_until = UnixMillis{0};
    // Only requests that follow a release spare undated slots.
    auto then = [this, ended, now, deadline, done = std::move(done)](auto released) mutable {
      if (!released || *released > 0 || ended.spares_undated) return done(std::move(released));
      tables_.slots().ReleaseResource(ended, now, deadline, std::move(done));
    };
    tables_.slots().ReleaseResource(forgotten, now, deadline, std::move(then));
  }
  void Claim(const SlotClaim&, UnixMillis, Deadline, Done<ClaimResult>) override { std::abort(); }
  void Bind(const SlotRef&, const std::string&, milliseconds, UnixMillis, Deadline,
            Done<HeldSlot>) override {
    std::abort();
  }
  void Renew(const SlotRef&, milliseconds, UnixMillis, Deadline, Done<HeldSlot>) override {
    std::abort();
  }
  void Release(const SlotRef&, UnixMillis, Deadline, Done<bool>) override { std::abort(); }
  void ReleaseUnbound(const SlotRef&, UnixMillis, Deadline, Done<bool>) override { std::abort(); }
  void List(const AccountKey&, const PageRequest&, UnixMillis, Deadline,
            Done<Page<HeldSlot>>) override {
    std::abort();
  }

 private:
  ReservationBackend& tables_;
};

EventDaemon::EventDaemon(const EventWorld& world, std::uint64_t seed, EventBug bug)
    : process_(world.scheduler, world.server, seed, milliseconds(0)),
      tables_(process_.client(), world.scheduler, world.names, {.seed = seed + 2}) {
  ReservationBackend* backend = &tables_;
  if (bug == EventBug::kNoTombstoneAfterRelease) {
    forgetful_ = std::make_unique<Forgetful>(tables_);
    backend = forgetful_.get();
  }
  releaser_ = std::make_unique<EventReleaser>(JobRules(), *backend, world.scheduler,
                                              EventReleaserOptions{.seed = seed + 3});
  source_ =
      std::make_unique<SqsSource>(world.queue, world.scheduler, HandleWith(*releaser_, bug),
                                  SqsSourceOptions{.queue_url = world.queue.url, .seed = seed + 4});
  if (!source_->Start()) std::abort();
}

EventDaemon::~EventDaemon() = default;

// Its calls in flight continue by the store's own steps, each of which is a request that fails.
void EventDaemon::Crash() {
  network().faults.down = true;
  source_.reset();
  releaser_.reset();
}

void EventDaemon::Stop(Done<void> done) { source_->Stop(std::move(done)); }

}  // namespace weir::simulation
