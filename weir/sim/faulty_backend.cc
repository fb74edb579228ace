#include "weir/sim/faulty_backend.h"

#include <optional>
#include <utility>

namespace weir::sim {
namespace {

/// The draws for one call.
struct Plan {
  bool before = false;
  bool after = false;
  std::optional<nanoseconds> delay;
};

}  // namespace

class FaultyBackend::State {
 public:
  State(Backend& inner, Scheduler& scheduler, std::uint64_t seed, const Faults& faults)
      : inner_(inner), scheduler_(scheduler), rng_(seed), faults_(faults) {}

  Backend& inner() { return inner_; }
  const Backend& inner() const { return inner_; }
  const FaultCounts& counts() const { return counts_; }
  void MarkClosed() { closed_ = true; }

  /// Makes one call. `run` starts it on the inner store and gets the callback to pass on.
  template <class T, class Run>
  void Call(Deadline deadline, Done<T> done, Run run) {
    ++counts_.calls;
    if (closed_ || faults_.down) {
      ++counts_.refused;
      return done(
          Fail(Code::kUnavailable, closed_ ? "faulty store: closed" : "faulty store: down"));
    }
    const Plan plan = Draw();
    done = Late(plan, deadline, std::move(done));
    if (plan.before) {
      ++counts_.failed_before;
      return done(Fail(Code::kUnavailable, "faulty store: failed before the call"));
    }
    if (plan.after) ++counts_.failed_after;
    run(plan.after ? Lost(std::move(done)) : std::move(done));
  }

 private:
  // Makes the same draws for every call.
  Plan Draw() {
    Plan plan;
    plan.before = rng_.Chance(faults_.fail_before);
    plan.after = rng_.Chance(faults_.fail_after);
    const bool delayed = rng_.Chance(faults_.delay);
    const nanoseconds delay(rng_.Between(0, faults_.longest_delay.count()));
    if (delayed) plan.delay = delay;
    return plan;
  }

  // Returns a callback that replaces the call's result by kUnavailable.
  template <class T>
  static Done<T> Lost(Done<T> done) {
    return [done = std::move(done)](const Result<T>&) mutable {
      done(Fail(Code::kUnavailable, "faulty store: failed after the call"));
    };
  }

  /// Returns a callback that passes the result on after the drawn delay, or fails with
  /// kDeadlineExceeded at the deadline if that is earlier.
  template <class T>
  Done<T> Late(const Plan& plan, Deadline deadline, Done<T> done) {
    if (!plan.delay) return done;
    const Instant completed = scheduler_.clock().Now() + *plan.delay;
    const bool timed_out = completed > deadline.at();
    ++counts_.delayed;
    if (timed_out) ++counts_.timed_out;
    const Instant when = std::min(completed, deadline.at());
    return [&scheduler = scheduler_, when, timed_out, done = std::move(done)](Result<T> r) mutable {
      if (timed_out) r = Fail(Code::kDeadlineExceeded, "faulty store: the result came too late");
      scheduler.At(when,
                   [r = std::move(r), done = std::move(done)]() mutable { done(std::move(r)); });
    };
  }

  Backend& inner_;
  Scheduler& scheduler_;
  Rng rng_;
  const Faults& faults_;
  FaultCounts counts_;
  bool closed_ = false;
};

class FaultyBackend::Buckets final : public BucketStore {
 public:
  explicit Buckets(State& state) : state_(state) {}

  UnixMillis Now() const override { return state_.inner().buckets().Now(); }

  void Acquire(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
               Done<Decision> done) override {
    state_.Call(deadline, std::move(done),
                [&](auto next) { store().Acquire(charges, now, deadline, std::move(next)); });
  }

  void Adjust(std::span<const Charge> charges, const AdjustTerms& terms, UnixMillis now,
              Deadline deadline, Done<void> done) override {
    state_.Call(deadline, std::move(done),
                [&](auto next) { store().Adjust(charges, terms, now, deadline, std::move(next)); });
  }

  void Read(std::span<const BucketKey> keys, Deadline deadline,
            Done<std::vector<std::optional<BucketRecord>>> done) override {
    state_.Call(deadline, std::move(done),
                [&](auto next) { store().Read(keys, deadline, std::move(next)); });
  }

  void ReadRecent(std::span<const BucketKey> keys, Deadline deadline,
                  Done<std::vector<std::optional<BucketRecord>>> done) override {
    state_.Call(deadline, std::move(done),
                [&](auto next) { store().ReadRecent(keys, deadline, std::move(next)); });
  }

  void List(const BucketFilter& filter, const PageRequest& page, Deadline deadline,
            Done<Page<BucketRecord>> done) override {
    state_.Call(deadline, std::move(done),
                [&](auto next) { store().List(filter, page, deadline, std::move(next)); });
  }

 private:
  BucketStore& store() { return state_.inner().buckets(); }
  State& state_;
};

class FaultyBackend::Config final : public ConfigStore {
 public:
  explicit Config(State& state) : state_(state) {}

  void GetLimits(std::span<const Level> levels, Deadline deadline,
                 Done<std::vector<std::optional<LevelLimits>>> done) override {
    state_.Call(deadline, std::move(done),
                [&](auto next) { store().GetLimits(levels, deadline, std::move(next)); });
  }

  void ListLimits(const LevelFilter& filter, const PageRequest& page, Deadline deadline,
                  Done<Page<LevelRecord>> done) override {
    state_.Call(deadline, std::move(done),
                [&](auto next) { store().ListLimits(filter, page, deadline, std::move(next)); });
  }

  void GetEntities(std::span<const std::string> ids, Deadline deadline,
                   Done<std::vector<std::optional<EntityRecord>>> done) override {
    state_.Call(deadline, std::move(done),
                [&](auto next) { store().GetEntities(ids, deadline, std::move(next)); });
  }

  void ListEntities(const std::optional<std::string>& parent, const PageRequest& page,
                    Deadline deadline, Done<Page<EntityRecord>> done) override {
    state_.Call(deadline, std::move(done),
                [&](auto next) { store().ListEntities(parent, page, deadline, std::move(next)); });
  }

  void Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done) override {
    state_.Call(deadline, std::move(done),
                [&](auto next) { store().Apply(std::move(changes), deadline, std::move(next)); });
  }

 private:
  ConfigStore& store() { return state_.inner().config(); }
  State& state_;
};

FaultyBackend::FaultyBackend(Backend& inner, Scheduler& scheduler, std::uint64_t seed)
    : state_(std::make_unique<State>(inner, scheduler, seed, faults)),
      buckets_(std::make_unique<Buckets>(*state_)),
      config_(std::make_unique<Config>(*state_)) {}

FaultyBackend::~FaultyBackend() = default;

BucketStore& FaultyBackend::buckets() { return *buckets_; }

ConfigStore& FaultyBackend::config() { return *config_; }

Status FaultyBackend::Close() {
  state_->MarkClosed();
  return state_->inner().Close();
}

std::string FaultyBackend::Describe() const { return "faulty " + state_->inner().Describe(); }

const FaultCounts& FaultyBackend::counts() const { return state_->counts(); }

}  // namespace weir::sim
