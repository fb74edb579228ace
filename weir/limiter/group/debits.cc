#include "weir/limiter/group/debits.h"

#include <utility>
#include <vector>

#include "weir/base/owed_result.h"

namespace weir {
namespace {

// The store has already retried each send, so few further sends are useful.
constexpr int kMaxSends = 4;
constexpr milliseconds kFirstPause{50};

using OwedStatus = OwedResult<void, "the debit was dropped by the store or a scheduler">;

}  // namespace

struct Debits::Pending {
  OwedStatus done;
  Deadline deadline;
  GroupParts parts{};
  AdjustmentPtr adjustment{};
  int sends = 0;
};

void Debits::Debit(std::span<const AcquirePart> parts, Deadline deadline, Done<void> done) {
  if (const Status valid = CheckCount(parts); !valid) return done(Fail(valid.error()));
  PairResults missing;
  auto debit = std::make_unique<Pending>(OwedStatus(std::move(done)), deadline);
  debit->parts = FindParts(resolver_, parts, missing);
  if (missing.empty()) return Start(std::move(debit));
  ResolvePairs(resolver_, std::move(missing), PairReads::kCached, deadline,
               [this, debit = std::move(debit)](PairResults pairs) mutable {
                 auto failed = TakeResults(debit->parts, std::move(pairs));
                 if (failed) return debit->done(Fail(std::move(failed->error)));
                 Start(std::move(debit));
               });
}

void Debits::Start(PendingPtr debit) {
  std::vector<PartTargets> targets;
  if (Status chosen = ChooseTargets(debit->parts, targets); !chosen)
    return debit->done(std::move(chosen));
  auto charges = MakeSignedCharges(ViewsOf(debit->parts, targets));
  if (!charges) return debit->done(Fail(std::move(charges.error())));
  if (charges->empty()) return debit->done({});
  if (debit->deadline.ExpiredAt(scheduler_.clock().Now())) {
    return debit->done(Fail(Code::kDeadlineExceeded,
                            "the deadline passed before the debit was sent; it does not count"));
  }
  // Buckets that are only looked at and debited get changed limits from debits.
  debit->adjustment = adjusts_.NewAdjustment(*std::move(charges), /*stores_limits=*/true);
  Send(std::move(debit));
}

void Debits::Send(PendingPtr debit) {
  ++debit->sends;
  debit->adjustment->state = Adjustment::State::kUnsettled;
  AdjustRun run{.unsent = {debit->adjustment}, .done = {}, .deadline = debit->deadline};
  run.done = [this, debit = std::move(debit)](Status result) mutable {
    OnResult(std::move(debit), std::move(result));
  };
  adjusts_.SendRun(std::move(run));
}

void Debits::OnResult(PendingPtr debit, Status result) {
  const Instant retry_at = scheduler_.clock().Now() + kFirstPause * (1 << (debit->sends - 1));
  const bool in_doubt = debit->adjustment->state == Adjustment::State::kDoubt;
  if (!in_doubt || debit->sends == kMaxSends || debit->deadline.ExpiredAt(retry_at))
    return debit->done(std::move(result));
  scheduler_.At(retry_at, [this, debit = std::move(debit), result = std::move(result)]() mutable {
    // The scheduler may be late.
    if (debit->deadline.ExpiredAt(scheduler_.clock().Now())) return debit->done(std::move(result));
    Send(std::move(debit));
  });
}

}  // namespace weir
