// The callers of a producer that wait for space. Inside of the producer only.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "weir/kinesis/buffer_quota.h"
#include "weir/kinesis/pipeline/flushes.h"
#include "weir/kinesis/producer_stream.h"

namespace weir::kinesis {

/// A caller that waits for space. The caller is blocked while this object exists, so the references
/// are valid.
struct Putter {
  Producer::Stream& stream;
  Incoming& incoming;
  Waiter waiter{};
};

/// The callers that wait in a quota, under their tickets. All calls must pass the same quota. Not
/// thread-safe.
class PutQueue {
 public:
  using Ticket = BufferQuota::Ticket;

  /// Queues a caller whose record does not fit. Returns the ticket. REQUIRES: the tenant of the
  /// record is set.
  Ticket Wait(BufferQuota& quota, Putter putter);
  /// Returns the waiter of a caller. REQUIRES: the ticket is queued. Valid until the ticket is
  /// removed.
  Waiter& WaiterOf(Ticket ticket) { return putters_.at(ticket).waiter; }
  /// Moves the callers of a stream to the tenants that `tenant_of` returns.
  void MoveWaiting(BufferQuota& quota, const Producer::Stream& stream,
                   const std::function<BufferQuota::Tenant(HashKey)>& tenant_of);
  /// Takes the space for callers for which there is space now. Removes and returns these callers.
  std::vector<Putter> Serve(BufferQuota& quota);

  struct Canceled {
    Waiter waiter;
    std::vector<Putter> served;  ///< waited behind the canceled one, and have their space now
  };
  /// Removes and returns a caller; nothing if it does not wait any more.
  std::optional<Canceled> Cancel(BufferQuota& quota, Ticket ticket);
  /// Removes and returns all callers; none of them gets space.
  std::vector<Putter> CancelAll(BufferQuota& quota);

 private:
  Putter Take(Ticket ticket);
  std::vector<Putter> TakeAll(const std::vector<Ticket>& tickets);

  std::map<Ticket, Putter> putters_;
};

}  // namespace weir::kinesis
