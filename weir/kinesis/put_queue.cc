#include "weir/kinesis/put_queue.h"

#include <absl/container/flat_hash_map.h>

#include <utility>

namespace weir::kinesis {

PutQueue::Ticket PutQueue::Wait(BufferQuota& quota, Putter putter) {
  const PendingRecord& pending = putter.incoming.pending;
  const Ticket ticket = quota.Wait(pending.tenant, {1, pending.bytes});
  putters_.emplace(ticket, std::move(putter));
  return ticket;
}

// Without this, a caller that waits for space of a tenant that no longer exists would wait longer
// than later callers.
void PutQueue::MoveWaiting(BufferQuota& quota, const Producer::Stream& stream,
                           const std::function<BufferQuota::Tenant(HashKey)>& tenant_of) {
  absl::flat_hash_map<Ticket, BufferQuota::Tenant> tenants;
  for (auto& [ticket, putter] : putters_) {
    if (&putter.stream != &stream) continue;
    Incoming& incoming = putter.incoming;
    incoming.pending.tenant = tenant_of(incoming.record.hash);
    tenants.emplace(ticket, incoming.pending.tenant);
  }
  quota.MoveWaiting(tenants);
}

std::vector<Putter> PutQueue::Serve(BufferQuota& quota) {
  std::vector<Ticket> tickets;
  quota.ServeWaiting(tickets);
  return TakeAll(tickets);
}

std::optional<PutQueue::Canceled> PutQueue::Cancel(BufferQuota& quota, Ticket ticket) {
  std::vector<Ticket> tickets;
  if (!quota.CancelWait(ticket, tickets)) return std::nullopt;
  return Canceled{Take(ticket).waiter, TakeAll(tickets)};
}

std::vector<Putter> PutQueue::CancelAll(BufferQuota& quota) {
  quota.CancelAllWaits();
  std::vector<Putter> all;
  all.reserve(putters_.size());
  for (auto& [ticket, putter] : std::exchange(putters_, {})) all.push_back(std::move(putter));
  return all;
}

Putter PutQueue::Take(Ticket ticket) { return std::move(putters_.extract(ticket).mapped()); }

std::vector<Putter> PutQueue::TakeAll(const std::vector<Ticket>& tickets) {
  std::vector<Putter> taken;
  taken.reserve(tickets.size());
  for (const Ticket ticket : tickets) taken.push_back(Take(ticket));
  return taken;
}

}  // namespace weir::kinesis
