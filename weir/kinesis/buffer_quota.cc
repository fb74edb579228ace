#include "weir/kinesis/buffer_quota.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>

namespace weir::kinesis {
namespace {

bool IsNothing(const Load& load) { return load.records == 0 && load.bytes == 0; }

/// A shard may always take an eighth of the free space, divided by the number of shards: see
/// buffer_quota.h.
constexpr std::size_t kFreeSpaceParts = 8;

bool IsWithin(const Load& load, const Load& limit) {
  return load.records <= limit.records && load.bytes <= limit.bytes;
}

void AddTo(Load& used, const Load& load) {
  used.records += load.records;
  used.bytes += load.bytes;
}

void SubtractFrom(Load& used, const Load& load) {
  used.records -= load.records;
  used.bytes -= load.bytes;
}

/// Returns `limit` minus `used`, or 0 where `used` is larger.
Load SubtractSaturated(const Load& limit, const Load& used) {
  return {.records = limit.records - std::min(limit.records, used.records),
          .bytes = limit.bytes - std::min(limit.bytes, used.bytes)};
}

}  // namespace

std::size_t BufferQuota::AddStream() {
  streams_.emplace_back();
  return streams_.size() - 1;
}

Load BufferQuota::used(const Tenant& tenant) const {
  const auto known = tenants_.find(tenant);
  return known == tenants_.end() ? Load{} : known->second;
}

bool BufferQuota::Fits(const Tenant& tenant, Load load) const {
  // Even a load larger than the quota is accepted if nothing is held.
  if (IsNothing(used_)) return true;
  const Stream& stream = streams_[tenant.stream];
  const Load free = SubtractSaturated({options_.max_records, options_.max_bytes}, used_);
  // A stream may take the free space less what the stream holds. A shard may take the rest of that,
  // less what the shard holds.
  Load allowed = free;
  if (streams_.size() > 1) allowed = SubtractSaturated(allowed, stream.used);
  if (stream.shards > 1) allowed = SubtractSaturated(allowed, used(tenant));
  if (IsWithin(load, allowed)) return true;
  // In any case a shard may take its equal part of an eighth of the free space.
  const std::size_t parts = kFreeSpaceParts * stream.shards;
  return stream.shards > 1 &&
         IsWithin(load,
                  SubtractSaturated({free.records / parts, free.bytes / parts}, used(tenant)));
}

bool BufferQuota::Fits(const Waiting& waiting) const {
  if (Fits(waiting.tenant, waiting.load)) return true;
  return IsOverdue(waiting) && used_.records < options_.max_records &&
         used_.bytes < options_.max_bytes;
}

bool BufferQuota::IsOverdue(const Waiting& waiting) const {
  const Load since = SubtractSaturated(accepted_, waiting.before);
  return HoldsNothing(waiting) &&
         (since.records >= options_.max_records || since.bytes >= options_.max_bytes);
}

void BufferQuota::AddHeld(const Tenant& tenant, Load load) {
  AddTo(used_, load);
  AddTo(accepted_, load);
  AddTo(streams_[tenant.stream].used, load);
  AddTo(tenants_[tenant], load);
}

bool BufferQuota::IsBehind(const Tenant& tenant, const Waiting& waiting) const {
  if (waiting.tenant.stream != tenant.stream) return false;
  return waiting.tenant == tenant || HoldsNothing(waiting);
}

bool BufferQuota::Take(const Tenant& tenant, Load load) {
  const bool must_wait = std::ranges::any_of(
      waiting_, [&](const Waiting& waiting) { return IsBehind(tenant, waiting); });
  if (must_wait || !Fits(tenant, load)) return false;
  AddHeld(tenant, load);
  return true;
}

BufferQuota::Ticket BufferQuota::Wait(const Tenant& tenant, Load load) {
  waiting_.push_back({next_ticket_, tenant, load, accepted_});
  return next_ticket_++;
}

void BufferQuota::MoveWaiting(const absl::flat_hash_map<Ticket, Tenant>& tenants) {
  for (Waiting& waiting : waiting_) {
    const auto moved = tenants.find(waiting.ticket);
    if (moved != tenants.end()) waiting.tenant = moved->second;
  }
}

bool BufferQuota::CancelWait(Ticket ticket, std::vector<Ticket>& served) {
  const auto is_it = [ticket](const Waiting& waiting) { return waiting.ticket == ticket; };
  if (std::erase_if(waiting_, is_it) == 0) return false;
  ServeWaiting(served);
  return true;
}

void BufferQuota::GiveBack(const Tenant& tenant, Load load) {
  SubtractFrom(used_, load);
  SubtractFrom(streams_[tenant.stream].used, load);
  const auto own = tenants_.find(tenant);
  SubtractFrom(own->second, load);
  if (IsNothing(own->second)) tenants_.erase(own);
}

void BufferQuota::ServeWaiting(std::vector<Ticket>& served) {
  if (waiting_.empty()) return;
  // Tenants and streams of which a load stays in the queue: their later loads must not overtake it.
  absl::flat_hash_set<Tenant> blocked;
  std::vector<bool> is_stream_blocked(streams_.size());
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const bool is_behind = is_stream_blocked[at->tenant.stream] || blocked.contains(at->tenant);
    if (is_behind || !Fits(*at)) {
      blocked.insert(at->tenant);
      if (HoldsNothing(*at)) is_stream_blocked[at->tenant.stream] = true;
      ++at;
      continue;
    }
    AddHeld(at->tenant, at->load);
    served.push_back(at->ticket);
    at = waiting_.erase(at);
  }
}

}  // namespace weir::kinesis
