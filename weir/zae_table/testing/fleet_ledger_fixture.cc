#include "weir/zae_table/testing/fleet_ledger_fixture.h"

#include <algorithm>
#include <utility>

namespace weir::dynamo {

LedgerCall& FleetLedger::Begin(LedgerCall call) {
  call.began = clock_.Now();
  return calls_.emplace_back(std::move(call));
}

bool FleetLedger::End(LedgerCall& call, LedgerCall::End end) const {
  if (call.process->is_dead()) return false;
  if (++call.completions > 1) return true;
  call.end = end;
  call.completed = clock_.Now();
  return true;
}

std::size_t FleetLedger::CountOpen(const FleetProcess& process) const {
  return static_cast<std::size_t>(std::ranges::count_if(calls_, [&](const LedgerCall& call) {
    return call.process == &process && call.completions == 0;
  }));
}

void FleetLedger::Acquire(FleetProcess& process, std::vector<Charge> charges, Deadline deadline,
                          Done<Decision> done) {
  LedgerCall& call = Begin({.process = &process,
                            .charges = std::move(charges),
                            .token = {},
                            .began = {},
                            .deadline = deadline});
  process.buckets().Acquire(
      call.charges, process.now(), deadline,
      [this, &call, done = std::move(done)](Result<Decision> decision) mutable {
        using enum LedgerCall::End;
        if (!End(call, !decision ? kFailed : decision->admitted ? kAdmitted : kRefused)) return;
        if (decision) {
          call.is_doubtful = decision->maybe_charged_twice;
          call.shards = decision->shards;
        }
        done(std::move(decision));
      });
}

void FleetLedger::Adjust(FleetProcess& process, std::vector<Charge> deltas, AdjustId token,
                         Deadline deadline, Done<void> done) {
  LedgerCall& call = Begin({.process = &process,
                            .charges = std::move(deltas),
                            .token = token,
                            .began = {},
                            .deadline = deadline});
  process.buckets().Adjust(call.charges, token, process.now(), deadline,
                           [this, &call, done = std::move(done)](Status status) mutable {
                             using enum LedgerCall::End;
                             if (!End(call, status ? kAdmitted : kFailed)) return;
                             done(std::move(status));
                           });
}

void FleetLedger::NotePeer(std::vector<Charge> charges, TimesStored stored) {
  const Instant now = clock_.Now();
  calls_.push_back({.charges = std::move(charges),
                    .token = {},
                    .began = now,
                    .deadline = Deadline::Never(),
                    .end = stored.least > 0 ? LedgerCall::End::kAdmitted : LedgerCall::End::kFailed,
                    .completed = now,
                    .completions = 1,
                    .stored = stored});
}

}  // namespace weir::dynamo
