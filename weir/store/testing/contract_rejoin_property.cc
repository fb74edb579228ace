// The tokens that each limit admits in any interval while sets of limits change and requests name
// more limits than a bucket has meters for. C2.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <vector>

#include "weir/store/testing/contract.h"

namespace weir {
namespace {

struct NamedStep {
  enum Kind { kTake, kOverrideTake, kOverdraw };
  Kind kind;
  milliseconds wait;           // since the step before
  int first;                   // index of the first name; names wrap around
  int count;                   // number of names
  int variant;                 // the variant of their parameters
  std::vector<int> per_mille;  // amounts in thousandths of the capacity, by name
};

std::ostream& operator<<(std::ostream& out, const NamedStep& step) {
  const char* const kinds[] = {"take", "override", "overdraw"};
  out << "\n  +" << step.wait.count() << " ms: " << kinds[step.kind] << " of " << step.count
      << " names from " << step.first << ", variant " << step.variant << ", per mille";
  for (const int amount : step.per_mille) out << ' ' << amount;
  return out;
}

rc::Gen<NamedStep> AnyNamedStep() {
  const auto kind = rc::gen::weightedElement<NamedStep::Kind>(
      {{4, NamedStep::kTake}, {8, NamedStep::kOverrideTake}, {1, NamedStep::kOverdraw}});
  const auto wait = rc::gen::map(
      rc::gen::weightedElement<std::int64_t>({{8, 0}, {4, 1}, {4, 300}, {2, 5000}, {1, 200'000}}),
      [](std::int64_t millis) { return milliseconds(millis); });
  return rc::gen::construct<NamedStep>(
      kind, wait, rc::gen::resize(100, rc::gen::inRange(0, 100)), rc::gen::inRange(1, 5),
      rc::gen::inRange(0, 3),
      rc::gen::container<std::vector<int>>(4, rc::gen::resize(100, rc::gen::inRange(0, 1001))));
}

struct Taken {
  UnixMillis at;
  std::int64_t amount;
};

// The names of one bucket, the parameters that each may have, and the tokens that each admitted.
class NamedTakes {
 public:
  NamedTakes(ContractClient& store, const std::string& entity, int names, int variants)
      : store_(store), key_{entity, "gpt-4", 0}, names_(names) {
    const auto quota =
        rc::gen::resize(100, rc::gen::construct<Quota>(rc::gen::inRange<std::int64_t>(1, 5000),
                                                       rc::gen::inRange<std::int64_t>(1, 5000),
                                                       rc::gen::inRange<std::int64_t>(1, 20'000)));
    for (int i = 0; i < variants; ++i) {
      quotas_.push_back(
          *rc::gen::container<std::vector<Quota>>(static_cast<std::size_t>(names), quota));
    }
  }

  void Make(const NamedStep& step) {
    now_ = now_ + step.wait;
    const bool overrides = step.kind == NamedStep::kOverrideTake;
    const std::vector<Limit> limits = LimitsOf(step);
    Charge charge{
        MakeTarget(key_, limits, overrides ? LimitSource::kOverride : LimitSource::kConfigured),
        {}};
    for (std::size_t i = 0; i < limits.size(); ++i) {
      charge.amounts.push_back(step.per_mille[i] * limits[i].quota.capacity / 1000);
    }
    step.kind == NamedStep::kOverdraw ? Overdraw(charge) : Take(charge);
  }

  void CheckEveryInterval() const {
    for (const auto& [name, taken] : taken_) {
      for (std::size_t first = 0; first < taken.size(); ++first) {
        std::int64_t sum = 0;
        for (std::size_t last = first; last < taken.size(); ++last) {
          sum += taken[last].amount;
          const milliseconds time = taken[last].at - taken[first].at;
          if (!IsWithinBound(name, sum, time)) {
            RC_FAIL(fmt::format("{}: {} tokens were admitted in {} ms", name, sum, time.count()));
          }
        }
      }
    }
  }

 private:
  std::vector<Limit> LimitsOf(const NamedStep& step) const {
    std::vector<Limit> limits;
    for (int i = 0; i < step.count; ++i) {
      const int index = (step.first + i) % names_;
      const auto variant = static_cast<std::size_t>(step.variant) % quotas_.size();
      limits.push_back(
          {fmt::format("name-{}", index), quotas_[variant][static_cast<std::size_t>(index)]});
    }
    return limits;
  }

  void Take(const Charge& charge) {
    const Result<Decision> decision = store_.Acquire({charge}, now_);
    if (!decision) {
      if (decision.error().code != Code::kFailedPrecondition) RC_FAIL(decision.error().message);
      return;
    }
    for (std::size_t i = 0; decision->admitted && i < charge.amounts.size(); ++i) {
      taken_[charge.target->limits[i].name].push_back({now_, charge.amounts[i]});
    }
  }

  // An adjust is not a take, and may leave debt.
  void Overdraw(Charge charge) {
    for (std::int64_t& amount : charge.amounts) amount *= 2;
    const Status adjusted = store_.Adjust({charge}, now_);
    if (!adjusted) RC_FAIL(adjusted.error().message);
  }

  bool IsWithinBound(const std::string& name, std::int64_t sum, milliseconds time) const {
    const auto index = static_cast<std::size_t>(std::stoi(name.substr(name.find('-') + 1)));
    std::int64_t capacity = 0;
    for (const auto& quotas : quotas_) capacity = std::max(capacity, quotas[index].capacity);
    // The largest of the rates counts.
    return std::ranges::any_of(quotas_, [&](const std::vector<Quota>& quotas) {
      const Quota& quota = quotas[index];
      return (sum - capacity) * quota.period <= quota.amount * time.count();
    });
  }

  ContractClient& store_;
  BucketKey key_;
  int names_;
  std::vector<std::vector<Quota>> quotas_;  // the quotas by variant and name
  std::map<std::string, std::vector<Taken>> taken_;
  UnixMillis now_ = kStart;
};

void RunNamedSteps(ContractClient& store, const std::string& entity, int names, int variants) {
  NamedTakes takes(store, entity, names, variants);
  for (const NamedStep& step : *rc::gen::container<std::vector<NamedStep>>(40, AnyNamedStep())) {
    takes.Make(step);
  }
  takes.CheckEveryInterval();
}

// Fails if: a limit that left early rejoins fuller than it would have been, or debts admit a new
// name without a charge.
TEST_P(StoreContractRejoin, C2MoreNamesThanMetersAdmitNoMoreThanTheirLimits) {
  CheckProperty([this] { RunNamedSteps(store_, Fresh("acme"), 26, 1); });
}

// Fails if: a limit that rejoins, or whose parameters change, loses the tokens that it has
// admitted.
TEST_P(StoreContractRejoin, C2ChangingParametersAdmitNoMoreThanTheLargest) {
  CheckProperty([this] { RunNamedSteps(store_, Fresh("acme"), 8, 3); });
}

}  // namespace
}  // namespace weir
