#include "weir/limiter/charges/held_charges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "weir/limiter/charges/amount_checks.h"

namespace weir {
namespace {

Status CheckHeld(const Charge& held, const Charge& delta) {
  for (std::size_t i = 0; i < delta.amounts.size(); ++i) {
    if (delta.amounts[i] >= 0 || held.amounts[i] + delta.amounts[i] >= 0) continue;
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: {} tokens of limit {} are given back; the lease holds {}",
                            NameOf(*held.target), FormatTokens(-delta.amounts[i]),
                            held.target->limits[i].name, FormatTokens(held.amounts[i])));
  }
  return {};
}

template <class Held>
auto& ChargeOf(Held& held, const TargetPtr& target) {
  return *std::ranges::find(held, target, &Charge::target);
}

// Adds part(delta) to the held amount for each delta.
template <class Part>
void AddShares(std::vector<Charge>& held, std::span<const Charge> deltas, Part part) {
  for (const Charge& delta : deltas) {
    Charge& charge = ChargeOf(held, delta.target);
    for (std::size_t i = 0; i < delta.amounts.size(); ++i) {
      charge.amounts[i] = SaturatingAdd(charge.amounts[i], part(delta.amounts[i]));
    }
  }
}

}  // namespace

Result<std::vector<Charge>> MakeDeltas(std::span<const Charge> held, const Amounts& amounts) {
  WEIR_RETURN_IF_ERROR(CheckNamedOnce(amounts));
  std::vector<Charge> deltas;
  for (const Charge& charge : held) {
    deltas.push_back(EmptyCharge(charge.target));
    deltas.back().shard = charge.shard;
  }
  for (const auto& [name, tokens] : amounts) {
    bool known = false;
    for (std::size_t i = 0; i < held.size(); ++i) {
      known |= IsBlocked(*held[i].target, name);
      const auto index = IndexOf(*held[i].target, name);
      if (!index) continue;
      known = true;
      WEIR_RETURN_IF_ERROR(CheckSize(*held[i].target, *index, tokens.milli()));
      deltas[i].amounts[*index] = tokens.milli();
    }
    if (!known) return Fail(UnknownLimit(*held.front().target, name));
  }
  std::erase_if(deltas, ChangesNothing);
  return deltas;
}

Status CheckHeld(std::span<const Charge> held, std::span<const Charge> deltas) {
  for (const Charge& delta : deltas) {
    WEIR_RETURN_IF_ERROR(CheckHeld(ChargeOf(held, delta.target), delta));
  }
  return {};
}

void AddNegative(std::vector<Charge>& held, std::span<const Charge> deltas) {
  AddShares(held, deltas, [](std::int64_t delta) { return std::min<std::int64_t>(delta, 0); });
}

void AddPositive(std::vector<Charge>& held, std::span<const Charge> deltas) {
  AddShares(held, deltas, [](std::int64_t delta) { return std::max<std::int64_t>(delta, 0); });
}

void RestoreNegative(std::vector<Charge>& held, std::span<const Charge> deltas) {
  AddShares(held, deltas, [](std::int64_t delta) { return -std::min<std::int64_t>(delta, 0); });
}

std::vector<Charge> OppositeOf(std::span<const Charge> held) {
  std::vector<Charge> deltas(held.begin(), held.end());
  for (Charge& charge : deltas) {
    // An adjust is bounded by kMaxMillitokens. Held tokens beyond this bound, which only positive
    // adjusts can have taken, stay taken.
    for (std::int64_t& amount : charge.amounts) amount = -std::min(amount, kMaxMillitokens);
  }
  std::erase_if(deltas, ChangesNothing);
  return deltas;
}

}  // namespace weir
