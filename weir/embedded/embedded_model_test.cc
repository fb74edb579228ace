// Random calls, restarts and kills, held against a table in memory that is never closed.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>

#include "weir/embedded/embedded_fixture.h"
#include "weir/store/bucket_table.h"

namespace weir {
namespace {

constexpr int kEntities = 6;

enum class Kind { kAcquire, kAdjust, kWait, kRun, kDelete, kRestart, kKill };

struct Step {
  Kind kind;
  int first;   // entity
  int second;  // entity; the same: only one is charged
  int limits;  // which of some sets of limits holds
  std::int64_t amount;
};

void showValue(const Step& step, std::ostream& out) {
  out << fmt::format("{{{} {} {} limits {} amount {}}}", static_cast<int>(step.kind), step.first,
                     step.second, step.limits, step.amount);
}

rc::Gen<Step> AnyStep() {
  const auto kind = rc::gen::weightedElement<Kind>({{12, Kind::kAcquire},
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

// What a bucket has at `now`; nothing if it is full, since a full one may be forgotten.
Meters StateAt(std::optional<BucketRecord> record, UnixMillis now) {
  if (!record || IsFull(record->bucket, now)) return {};
  Refill(record->bucket, now);
  for (Meter& meter : record->bucket.meters) {
    meter.consumed = 0;  // forgotten with the bucket
    if (meter.remainder == 0) meter.remainder_period = meter.quota.period;
  }
  return record->bucket.meters;
}

class Run {
 public:
  explicit Run(Durability durability) : options_{.durability = durability, .fold_bytes = 600} {
    RC_ASSERT(client_.Open(options_).has_value());
  }

  void Do(const Step& step) {
    switch (step.kind) {
      case Kind::kAcquire:
        return Acquire(step);
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

  void Acquire(Step step) {
    step.amount = std::max<std::int64_t>(step.amount, 0);
    const auto decision = client_.Acquire(Charges(step));
    const auto expected = model_.Acquire(Charges(step), client_.now());
    const bool same = decision == expected;
    RC_ASSERT(same);
  }

  void Adjust(const Step& step) {
    // An adjust goes by the limits that the bucket has: these.
    Acquire({.first = step.first, .second = step.second, .limits = step.limits, .amount = 0});
    RC_ASSERT(client_.Adjust(Charges(step)).has_value());
    RC_ASSERT(model_.Adjust(Charges(step), {1, ++adjusts_}, client_.now()).has_value());
  }

  // Everything that was answered is committed first; where a fold stands is left to chance.
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
// while it went on; recovery reads the log before the table, or
// backwards; the last commit of Close is left out.
RC_GTEST_PROP(EmbeddedModel, KeepsWhatItAnsweredRelaxed, ()) { RunSteps(Durability::kRelaxed); }

// Fails if: as above.
RC_GTEST_PROP(EmbeddedModel, KeepsWhatItAnsweredStrict, ()) { RunSteps(Durability::kStrict); }

}  // namespace
}  // namespace weir
