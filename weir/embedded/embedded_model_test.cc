// Compares random calls, restarts and kills with a table in memory that is never closed.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "weir/embedded/testing/embedded_fixture.h"
#include "weir/store/bucket/bucket_table.h"

namespace weir {
namespace {

constexpr int kEntities = 6;

enum class Kind { kAcquire, kOverride, kAdjust, kWait, kRun, kDelete, kRestart, kKill };

struct Step {
  Kind kind;
  int first;   // entity
  int second;  // entity; if it equals `first`, only one is charged
  int limits;  // index of the set of limits
  std::int64_t amount;
};

void showValue(const Step& step, std::ostream& out) {
  out << fmt::format("{{{} {} {} limits {} amount {}}}", static_cast<int>(step.kind), step.first,
                     step.second, step.limits, step.amount);
}

rc::Gen<Step> AnyStep() {
  const auto kind = rc::gen::weightedElement<Kind>({{12, Kind::kAcquire},
                                                    {12, Kind::kOverride},
                                                    {4, Kind::kAdjust},
                                                    {3, Kind::kWait},
                                                    {4, Kind::kRun},
                                                    {1, Kind::kDelete},
                                                    {2, Kind::kRestart},
                                                    {2, Kind::kKill}});
  const auto entity = rc::gen::inRange(0, kEntities);
  return rc::gen::construct<Step>(kind, entity, entity, rc::gen::inRange(0, 3),
                                  rc::gen::inRange<std::int64_t>(-3000, 9000));
}

TargetPtr TargetOf(int entity, int limits) {
  const std::vector<std::vector<Limit>> sets = {
      {{"rpm", PerSecond(10)}},
      {{"rpm", PerMinute(700).Burst(9)}, {"tpm", PerSecond(3)}},
      {{"tpm", Quota{12'345, 999, 777}}},
  };
  return MakeTarget({fmt::format("entity-{}", entity), "gpt-4", 0},
                    sets[static_cast<std::size_t>(limits)]);
}

// Returns a target with one of 24 extra names, more than a bucket keeps in addition to its
// configured limits. Each name has a fixed quota.
TargetPtr OverrideOf(int entity, std::int64_t amount) {
  const std::int64_t number = std::max<std::int64_t>(amount, 0) % 24;
  const Quota quota{.capacity = 10'000, .amount = 1 + number * number, .period = 1000};
  return MakeTarget(TargetOf(entity, 0)->key, {{fmt::format("extra-{}", number), quota}},
                    LimitSource::kOverride);
}

Meter Comparable(Meter meter, UnixMillis time, UnixMillis now) {
  Refill(meter, (now - time).count());
  meter.consumed = 0;  // forgotten with the bucket
  if (meter.remainder == 0) meter.remainder_period = meter.quota.period;
  return meter;
}

// The comparable state of a bucket. Full meters are left out, because they may be forgotten.
struct Seen {
  std::map<std::string, Meter> configured;
  std::map<std::string, Meter> extras;
  UnixMillis left_full;

  friend bool operator==(const Seen&, const Seen&) = default;
};

void AddUnlessFull(std::map<std::string, Meter>& meters, const std::string& name, Meter meter) {
  if (meter.tokens < meter.quota.capacity) meters[name] = meter;
}

// Returns the state of a bucket at `now`.
Seen StateAt(const std::optional<BucketRecord>& record, UnixMillis now) {
  Seen seen;
  if (!record) return seen;
  for (std::size_t i = 0; i < record->names.size(); ++i) {
    const Bucket& bucket = record->bucket;
    AddUnlessFull(seen.configured, record->names[i],
                  Comparable(bucket.meters[i], bucket.time, now));
  }
  for (const ExtraMeter& extra : record->extras.meters) {
    AddUnlessFull(seen.extras, extra.name, Comparable(extra.meter, extra.time, now));
  }
  if (record->extras.left_full > now) seen.left_full = record->extras.left_full;
  return seen;
}

class Run {
 public:
  explicit Run(Durability durability) : options_{.durability = durability, .fold_bytes = 600} {
    RC_ASSERT(client_.Open(options_).has_value());
  }

  void Do(const Step& step) {
    switch (step.kind) {
      case Kind::kAcquire:
        return Acquire(Charges(step));
      case Kind::kOverride:
        return Acquire({Overriding(step)});
      case Kind::kAdjust:
        return Adjust(step);
      case Kind::kWait:
        return client_.scheduler().Advance(milliseconds(std::max<std::int64_t>(step.amount, 0)));
      case Kind::kRun:
        client_.scheduler().RunNext();
        return;
      case Kind::kDelete:
        (void)client_.Apply({DeleteEntity{TargetOf(step.first, 0)->key.entity}});
        return model_.EraseEntity(TargetOf(step.first, 0)->key.entity);
      case Kind::kRestart:
        RC_ASSERT(client_.Close().has_value());
        return RC_ASSERT(client_.Open(options_).has_value());
      case Kind::kKill:
        return Kill();
    }
  }

  void Check() {
    for (int entity = 0; entity < kEntities; ++entity) {
      const BucketKey key = TargetOf(entity, 0)->key;
      const auto kept = StateAt(client_.Read(key), client_.now());
      RC_ASSERT(kept == StateAt(model_.Read(key), client_.now()));
    }
  }

 private:
  static std::vector<Charge> Charges(const Step& step) {
    std::vector<Charge> charges;
    for (const int entity : {step.first, step.second}) {
      if (!charges.empty() && step.first == step.second) break;
      const TargetPtr target = TargetOf(entity, step.limits);
      charges.push_back({target, std::vector(target->limits.size(), step.amount)});
    }
    return charges;
  }

  static Charge Overriding(const Step& step) {
    return {OverrideOf(step.first, step.amount), {std::max<std::int64_t>(step.amount, 0)}};
  }

  void Acquire(std::vector<Charge> charges) {
    for (Charge& charge : charges) {
      for (std::int64_t& amount : charge.amounts) amount = std::max<std::int64_t>(amount, 0);
    }
    const auto decision = client_.Acquire(charges);
    const auto expected = model_.Acquire(charges, client_.now());
    const bool same = decision == expected;
    RC_ASSERT(same);
  }

  void Adjust(const Step& step) {
    // A full bucket may exist in one of the two only, and an adjust uses the limits of the existing
    // bucket. So the bucket is charged first.
    std::vector<Charge> settle = Charges(step);
    for (Charge& charge : settle) charge.amounts.assign(charge.amounts.size(), 1);
    Acquire(settle);
    std::vector<Charge> charges = Charges(step);
    if (step.limits == 0) charges = {Overriding(step)};
    RC_ASSERT(client_.Adjust(charges).has_value());
    RC_ASSERT(model_.Adjust(charges, AdjustId{1, ++adjusts_}, client_.now()).has_value());
  }

  // Commits all completed calls first. The state of a fold is random.
  void Kill() {
    client_.Commit();
    const std::string killed = client_.CopyAsKilled();
    (void)client_.Close();
    for (const std::string suffix : {"", "-wal"}) {
      if (FileExists(killed + suffix)) {
        std::filesystem::rename(killed + suffix, client_.path() + suffix);
      }
    }
    RC_ASSERT(client_.Open(options_).has_value());
  }

  EmbeddedOptions options_;
  TempFolder folder_;
  EmbeddedClient client_{folder_ / "weir.db"};
  BucketTable model_;
  std::uint64_t adjusts_ = 0;
};

void RunSteps(Durability durability) {
  const auto steps = *rc::gen::container<std::vector<Step>>(AnyStep());
  Run run(durability);
  for (const Step& step : steps) {
    run.Do(step);
    if (step.kind == Kind::kRestart || step.kind == Kind::kKill) run.Check();
  }
  run.Do({.kind = Kind::kRestart});
  run.Check();
}

// Fails if: a fold deletes rows before their buckets are written, or forgets a bucket that changed
// during the fold; recovery reads the log before the table, or backwards; the last commit of Close
// is missing; extra limits are not written, or not read.
RC_GTEST_PROP(EmbeddedModel, KeepsWhatItAnsweredRelaxed, ()) { RunSteps(Durability::kRelaxed); }

// Fails if: as above.
RC_GTEST_PROP(EmbeddedModel, KeepsWhatItAnsweredStrict, ()) { RunSteps(Durability::kStrict); }

}  // namespace
}  // namespace weir
