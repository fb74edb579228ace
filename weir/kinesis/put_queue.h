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

/// A caller that waits for space. It is blocked while this exists, so the references are valid.
struct Putter {
  Producer::Stream& stream;
  Incoming& incoming;
  Waiter waiter{};
};

/// The callers that wait in a quota, under their tickets. Each function that is given the quota
/// must get the same one. Not thread-safe.
class PutQueue {
 public:
  using Ticket = BufferQuota::Ticket;

  /// Queues a caller whose record has its tenant and does not fit. Returns its ticket.
  Ticket Wait(BufferQuota& quota, Putter putter);
  /// Returns the waiter of a caller. REQUIRES: the ticket is queued. Valid until it leaves.
  Waiter& WaiterOf(Ticket ticket) { return putters_.at(ticket).waiter; }
  /// Moves the callers of a stream to other tenants, as `tenant_of` returns them.
  void MoveWaiting(BufferQuota& quota, const Producer::Stream& stream,
                   const std::function<BufferQuota::Tenant(HashKey)>& tenant_of);
  /// Takes the space of callers for which there is space now, and removes and returns these.
  std::vector<Putter> Serve(BufferQuota& quota);

  struct Canceled {
    Waiter waiter;
    std::vector<Putter> served;  ///< waited behind it, and have their space now
  };
  /// Removes a caller; nothing if it does not wait any more.
  std::optional<Canceled> Cancel(BufferQuota& quota, Ticket ticket);
  /// Removes all callers; none has space.
  std::vector<Putter> CancelAll(BufferQuota& quota);

 private:
  Putter Take(Ticket ticket);
  std::vector<Putter> TakeAll(const std::vector<Ticket>& tickets);

  std::map<Ticket, Putter> putters_;
};

}  // namespace weir::kinesis
