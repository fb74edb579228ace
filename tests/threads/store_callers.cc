#include "tests/threads/store_callers.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "weir/runtime/await.h"
#include "weir/zae_table/zae_layout.h"

namespace weir::dynamo {
namespace {

constexpr std::int64_t kManyTokens = 1'000'000;
constexpr std::int64_t kFewWrites = 50 * kMillitokens;

std::size_t BucketOf(const Charge& charge) {
  const std::string_view entity = charge.target->key.entity;
  return static_cast<std::size_t>(std::ranges::find(kEntities, entity) - kEntities.begin());
}

std::vector<Charge> ChargesOf(std::size_t number) {
  const auto amount = static_cast<std::int64_t>(number % 3 + 1) * kMillitokens;
  std::vector<Charge> charges{{.target = TargetOf(0), .amounts = {amount}}};
  const std::size_t other = 1 + number / 2 % (kBuckets - 1);
  if (number % 7 != 0) charges.push_back({.target = TargetOf(other), .amounts = {amount}});
  return charges;
}

// Calls that are kept when late may leave debt, so they do not take from the scarce bucket.
// (Neither do calls that are corrected.)
bool IsKept(std::size_t number, const std::vector<Charge>& charges) {
  return number % 6 == 1 && BucketOf(charges.back()) != kScarce;
}

bool IsLate(const Result<Decision>& result) {
  return !result && result.error().code == Code::kDeadlineExceeded;
}

}  // namespace

TargetPtr TargetOf(std::size_t bucket) {
  const std::int64_t tokens = bucket == kScarce ? kScarceTokens : kManyTokens;
  return MakeTarget({kEntities[bucket], "llm", 0},
                    {{"calls", PerPeriod(tokens, milliseconds(kMaxPeriodMillis))}});
}

StoreWorld::StoreWorld(std::uint64_t seed)
    : dynamo(loop, "limits", seed), table(dynamo, loop, "limits", seed, dynamo::ZaeLayout()) {
  const auto maker = Open(0);
  for (std::size_t i = 0; i < kBuckets; ++i) {
    const std::vector<Charge> charges{{.target = TargetOf(i), .amounts = {kMillitokens}}};
    const auto made = Await<Decision>([&](Done<Decision> done) {
      maker->Acquire(charges, maker->Now(), Deadline::Never(), std::move(done));
    });
    if (!made || !made->admitted) std::abort();
  }
  dynamo.SetFaulty(true);
}

std::unique_ptr<DynamoBucketStore> StoreWorld::Open(std::uint64_t seed) {
  return std::make_unique<DynamoBucketStore>(
      table, Keys("ns"), loop, BucketStoreOptions{.seed = seed, .write_capacity = kFewWrites});
}

void StoreWorld::Settle() {
  dynamo.AwaitResults();
  static_cast<void>(Await<void>(
      [this](Done<void> done) { loop.Post([done = std::move(done)]() mutable { done({}); }); }));
}

std::int64_t StoreWorld::Taken(const BucketKey& key) {
  dynamo.SetFaulty(false);
  const auto reader = Open(0);
  const auto records = Await<std::vector<std::optional<BucketRecord>>>(
      [&reader, &key](auto done) { reader->Read({&key, 1}, Deadline::Never(), std::move(done)); });
  if (!records) std::abort();
  return records->front() ? records->front()->bucket.meters.front().consumed : 0;
}

/// The callback of one call in a chain. The chain continues even if the callback is dropped.
class StoreCallers::Link {
 public:
  Link(StoreCallers& callers, std::size_t number, std::size_t left)
      : callers_(&callers), number_(number), left_(left) {}
  Link(Link&& other) noexcept
      : callers_(std::exchange(other.callers_, nullptr)),
        number_(other.number_),
        left_(other.left_) {}
  Link& operator=(Link&&) = delete;
  ~Link() {
    if (callers_ == nullptr) return;
    ++callers_->dropped_;
    GoOn(*callers_);
  }
  void operator()(const Result<Decision>& result) {
    StoreCallers& callers = *std::exchange(callers_, nullptr);
    callers.Note(number_, ChargesOf(number_), result);
    GoOn(callers);
  }

 private:
  void GoOn(StoreCallers& callers) const {
    callers.CallFromCallbacks(left_);
    callers.NoteEnd();
  }

  StoreCallers* callers_;
  std::size_t number_;
  std::size_t left_;
};

void StoreCallers::CallFromCallbacks(std::size_t count) {
  if (count == 0) return;
  const std::size_t number = next_++;
  Ask(number, ChargesOf(number), Link(*this, number, count - 1));
}

void StoreCallers::CallInTurn(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t number = next_++;
    const std::vector<Charge> charges = ChargesOf(number);
    const auto result =
        Wait<Decision>([&](Done<Decision> done) { Ask(number, charges, std::move(done)); });
    Note(number, charges, result);
    if (result && result->admitted && number % 4 == 0) Correct(number, charges, *result);
    if (number % 5 == 0) ReadAndRepair(number);
    NoteEnd();
  }
}

// Await returns kCancelled for a call that was dropped.
template <class T, class Start>
Result<T> StoreCallers::Wait(Start start) {
  Result<T> result = Await<T>(start);
  if (!result && result.error().code == Code::kCancelled) ++dropped_;
  return result;
}

void StoreCallers::AwaitEnds(std::size_t count) const {
  for (std::size_t seen = ended_; seen < count; seen = ended_) ended_.wait(seen);
}

void StoreCallers::NoteEnd() {
  ++ended_;
  ended_.notify_all();
}

Deadline StoreCallers::DeadlineOf(std::size_t number) const {
  if (number % 2 == 0) return Deadline::Never();
  return Deadline::After(world_.clock, milliseconds(number % 5));
}

void StoreCallers::Ask(std::size_t number, const std::vector<Charge>& charges,
                       Done<Decision> done) {
  const Deadline deadline = DeadlineOf(number);
  if (IsKept(number, charges)) {
    return store_.AcquireAndKeep(charges, store_.Now(), deadline, std::move(done));
  }
  store_.Acquire(charges, store_.Now(), deadline, std::move(done));
}

void StoreCallers::Note(std::size_t number, const std::vector<Charge>& charges,
                        const Result<Decision>& result) {
  const bool is_taken = result ? result->admitted : IsLate(result) && IsKept(number, charges);
  for (const Charge& charge : charges) {
    Account& account = accounts_[BucketOf(charge)];
    if (is_taken) account.taken += charge.amounts[0];
    if (result && result->maybe_charged_twice) account.doubt += charge.amounts[0];
  }
  late_ += IsLate(result) ? 1 : 0;
  refused_ += result && !result->admitted && !result->contended ? 1 : 0;
  ++results_[number];
}

// Half of the corrections take more, half return tokens. One is retried until it is known to count,
// or a correction is known to be lost.
void StoreCallers::Correct(std::size_t number, std::vector<Charge> charges,
                           const Decision& decision) {
  const std::int64_t delta = number % 8 == 0 ? -500 : 700;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    charges[i].amounts = {delta};
    charges[i].shard = i < decision.shards.size() ? decision.shards[i] : 0;
  }
  bool counts = false;
  for (std::size_t tries = number + 1; !counts && store_.forfeits() == 0; ++tries) {
    counts = Wait<void>([&](Done<void> done) {
               Adjust(number, charges, DeadlineOf(tries), std::move(done));
             }).has_value();
  }
  for (const Charge& charge : charges) {
    Account& account = accounts_[BucketOf(charge)];
    if (counts) account.taken += delta;
    if (!counts) account.doubt += std::abs(delta);
  }
}

void StoreCallers::Adjust(std::size_t number, const std::vector<Charge>& charges, Deadline deadline,
                          Done<void> done) {
  AdjustTerms terms = AdjustId{.high = 1, .low = number};
  terms.is_shared = number % 12 == 0;
  store_.Adjust(charges, terms, store_.Now(), deadline, std::move(done));
}

// Each call must complete once, with any result.
void StoreCallers::ReadAndRepair(std::size_t number) {
  const TargetPtr target = TargetOf(number % kBuckets);
  const std::vector<BucketKey> keys{target->key};
  static_cast<void>(Wait<std::vector<std::optional<BucketRecord>>>(
      [&](auto done) { store_.ReadRecent(keys, DeadlineOf(number), std::move(done)); }));
  static_cast<void>(Wait<void>(
      [&](Done<void> done) { store_.Conform(target, DeadlineOf(number + 1), std::move(done)); }));
}

}  // namespace weir::dynamo
