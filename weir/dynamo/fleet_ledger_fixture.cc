#include "weir/dynamo/fleet_ledger_fixture.h"

#include <utility>

namespace weir::dynamo {

LedgerCall& FleetLedger::Begin(std::vector<Charge> charges, std::optional<AdjustToken> token,
                               Deadline deadline) {
  calls_.push_back(
      {.charges = std::move(charges), .token = token, .began = clock_.Now(), .deadline = deadline});
  return calls_.back();
}

void FleetLedger::End(LedgerCall& call, LedgerCall::End end) const {
  if (++call.answers > 1) return;
  call.end = end;
  call.answered = clock_.Now();
}

void FleetLedger::Acquire(FleetProcess& process, std::vector<Charge> charges, Deadline deadline,
                          Done<Decision> done) {
  LedgerCall& call = Begin(std::move(charges), {}, deadline);
  process.buckets().Acquire(
      call.charges, process.now(), deadline,
      [this, &call, done = std::move(done)](Result<Decision> decision) mutable {
        using enum LedgerCall::End;
        End(call, !decision ? kFailed : decision->admitted ? kAdmitted : kRefused);
        if (decision) {
          call.is_doubtful = decision->maybe_charged_twice;
          call.shards = decision->shards;
        }
        done(std::move(decision));
      });
}

void FleetLedger::Adjust(FleetProcess& process, std::vector<Charge> deltas, AdjustToken token,
                         Deadline deadline, Done<void> done) {
  LedgerCall& call = Begin(std::move(deltas), token, deadline);
  process.buckets().Adjust(call.charges, token, process.now(), deadline,
                           [this, &call, done = std::move(done)](Status status) mutable {
                             using enum LedgerCall::End;
                             End(call, status ? kAdmitted : kFailed);
                             done(std::move(status));
                           });
}

}  // namespace weir::dynamo
