#include "weir/kinesis/room.h"

#include <algorithm>

namespace weir::kinesis {

Room::Tenant Room::AddTenant() {
  tenants_.emplace_back();
  return tenants_.size() - 1;
}

bool Room::Fits(Tenant tenant, Load load) const {
  if (used_.records == 0 && used_.bytes == 0) return true;
  const Load after{used_.records + load.records, used_.bytes + load.bytes};
  if (after.records > options_.max_records || after.bytes > options_.max_bytes) return false;
  if (tenants_.size() == 1) return true;
  const Load& own = tenants_[tenant];
  return own.records + load.records <= options_.max_records - used_.records &&
         own.bytes + load.bytes <= options_.max_bytes - used_.bytes;
}

void Room::Add(Tenant tenant, Load load) {
  used_.records += load.records;
  used_.bytes += load.bytes;
  tenants_[tenant].records += load.records;
  tenants_[tenant].bytes += load.bytes;
}

bool Room::Take(Tenant tenant, Load load) {
  const bool others_first = std::ranges::any_of(
      waiting_, [tenant](const Waiting& waiting) { return waiting.tenant == tenant; });
  if (others_first || !Fits(tenant, load)) return false;
  Add(tenant, load);
  return true;
}

Room::Ticket Room::Wait(Tenant tenant, Load load) {
  waiting_.push_back({next_ticket_, tenant, load});
  return next_ticket_++;
}

bool Room::Leave(Ticket ticket) {
  return std::erase_if(waiting_,
                       [ticket](const Waiting& waiting) { return waiting.ticket == ticket; }) > 0;
}

void Room::GiveBack(Tenant tenant, Load load, std::vector<Ticket>& served) {
  used_.records -= load.records;
  used_.bytes -= load.bytes;
  tenants_[tenant].records -= load.records;
  tenants_[tenant].bytes -= load.bytes;
  std::vector<bool> stuck(tenants_.size());
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (stuck[at->tenant] || !Fits(at->tenant, at->load)) {
      stuck[at->tenant] = true;
      ++at;
      continue;
    }
    Add(at->tenant, at->load);
    served.push_back(at->ticket);
    at = waiting_.erase(at);
  }
}

}  // namespace weir::kinesis
