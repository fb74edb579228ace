#include "weir/kinesis/room.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>

namespace weir::kinesis {
namespace {

bool IsNothing(const Load& load) { return load.records == 0 && load.bytes == 0; }

void Grow(Load& used, const Load& load) {
  used.records += load.records;
  used.bytes += load.bytes;
}

void Shrink(Load& used, const Load& load) {
  used.records -= load.records;
  used.bytes -= load.bytes;
}

/// What is over `used`, or nothing.
Load Over(const Load& most, const Load& used) {
  return {.records = most.records - std::min(most.records, used.records),
          .bytes = most.bytes - std::min(most.bytes, used.bytes)};
}

}  // namespace

std::size_t Room::AddStream() {
  streams_.emplace_back();
  return streams_.size() - 1;
}

Load Room::used(const Tenant& tenant) const {
  const auto known = tenants_.find(tenant);
  return known == tenants_.end() ? Load{} : known->second;
}

bool Room::Fits(const Tenant& tenant, Load load) const {
  if (IsNothing(used_)) return true;
  const Stream& stream = streams_[tenant.stream];
  Load left = Over({options_.max_records, options_.max_bytes}, used_);
  if (streams_.size() > 1) left = Over(left, stream.used);
  if (stream.shards > 1) left = Over(left, used(tenant));
  return load.records <= left.records && load.bytes <= left.bytes;
}

void Room::Add(const Tenant& tenant, Load load) {
  Grow(used_, load);
  Grow(streams_[tenant.stream].used, load);
  Grow(tenants_[tenant], load);
}

bool Room::IsBehind(const Tenant& tenant, const Waiting& waiting) const {
  if (waiting.tenant.stream != tenant.stream) return false;
  return waiting.tenant == tenant || !tenants_.contains(waiting.tenant);
}

bool Room::Take(const Tenant& tenant, Load load) {
  const bool others_first = std::ranges::any_of(
      waiting_, [&](const Waiting& waiting) { return IsBehind(tenant, waiting); });
  if (others_first || !Fits(tenant, load)) return false;
  Add(tenant, load);
  return true;
}

Room::Ticket Room::Wait(const Tenant& tenant, Load load) {
  waiting_.push_back({next_ticket_, tenant, load});
  return next_ticket_++;
}

bool Room::Leave(Ticket ticket, std::vector<Ticket>& served) {
  const auto is_it = [ticket](const Waiting& waiting) { return waiting.ticket == ticket; };
  if (std::erase_if(waiting_, is_it) == 0) return false;
  Serve(served);
  return true;
}

void Room::GiveBack(const Tenant& tenant, Load load) {
  Shrink(used_, load);
  Shrink(streams_[tenant.stream].used, load);
  const auto own = tenants_.find(tenant);
  Shrink(own->second, load);
  if (IsNothing(own->second)) tenants_.erase(own);
}

void Room::Serve(std::vector<Ticket>& served) {
  if (waiting_.empty()) return;
  absl::flat_hash_set<Tenant> stuck;
  std::vector<bool> is_short(streams_.size());
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const bool is_behind = is_short[at->tenant.stream] || stuck.contains(at->tenant);
    if (is_behind || !Fits(at->tenant, at->load)) {
      stuck.insert(at->tenant);
      if (!tenants_.contains(at->tenant)) is_short[at->tenant.stream] = true;
      ++at;
      continue;
    }
    Add(at->tenant, at->load);
    served.push_back(at->ticket);
    at = waiting_.erase(at);
  }
}

}  // namespace weir::kinesis
