#include "weir/store/testing/contract_print.h"

#include <gtest/gtest.h>

#include <ostream>

namespace weir {

void PrintTo(const BucketKey& key, std::ostream* out) {
  *out << key.entity << '/' << key.resource << '#' << key.shard;
}

void PrintTo(const LimitStatus& status, std::ostream* out) {
  *out << "\n  " << status.entity << '/' << status.resource << ' ' << status.limit << ": "
       << status.requested << " asked of " << status.available << ", capacity " << status.capacity;
  if (status.exceeded) *out << ", exceeded";
  *out << ", wait " << status.retry_after.count() << " ms";
}

void PrintTo(const Decision& decision, std::ostream* out) {
  *out << (decision.admitted ? "admitted" : "refused") << ", wait " << decision.retry_after.count()
       << " ms";
  for (const LimitStatus& status : decision.limits) PrintTo(status, out);
}

void PrintTo(const Meter& meter, std::ostream* out) {
  *out << meter.tokens << " + " << meter.remainder << '/' << meter.remainder_period << " of "
       << meter.quota.capacity << ", " << meter.quota.amount << " each " << meter.quota.period
       << " ms, " << meter.consumed << " consumed;";
}

void PrintTo(const BucketRecord& record, std::ostream* out) {
  PrintTo(record.key, out);
  *out << " at " << record.bucket.time.value;
  for (std::size_t i = 0; i < record.names.size(); ++i) {
    *out << ' ' << record.names[i] << ' ';
    PrintTo(record.bucket.meters[i], out);
  }
  for (const ExtraMeter& extra : record.extras.meters) {
    *out << " extra at " << extra.time.value << ' ' << extra.name << ' ';
    PrintTo(extra.meter, out);
  }
  *out << " left " << record.extras.last_left.value << ", full " << record.extras.left_full.value;
}

void PrintTo(const LevelLimits& limits, std::ostream* out) {
  for (const Limit& limit : limits.limits) {
    *out << limit.name << ' ' << limit.quota.amount << " each " << limit.quota.period
         << " ms up to " << limit.quota.capacity << "; ";
  }
  if (limits.on_unavailable) {
    *out << (*limits.on_unavailable == OnUnavailable::kAllow ? "allow; " : "block; ");
  }
  *out << (limits.managed ? "managed" : "not managed");
}

void PrintTo(const LevelRecord& record, std::ostream* out) {
  *out << Describe(record.level) << ": ";
  PrintTo(record.limits, out);
}

void PrintTo(const EntityRecord& record, std::ostream* out) {
  const Entity& entity = record.entity;
  *out << entity.id << " (" << entity.name << "), parent " << entity.parent.value_or("none")
       << (entity.cascade ? ", cascades" : "") << ", created " << entity.created_at.value
       << (record.managed ? ", managed, " : ", ") << testing::PrintToString(entity.metadata);
}

void PrintTo(const AuditEvent& event, std::ostream* out) {
  *out << event.id << " " << event.at.value << " " << event.subject << " " << event.action << " by "
       << event.principal.value_or("-") << " on " << event.resource.value_or("-") << ", "
       << event.details.size() << " details";
}

void PrintTo(const UsageSnapshot& snapshot, std::ostream* out) {
  *out << snapshot.entity << "/" << snapshot.resource << " " << Name(snapshot.window) << " "
       << snapshot.start.value << " events " << snapshot.events;
  for (const auto& [limit, used] : snapshot.used) *out << " " << limit << "=" << used;
  for (const auto& [limit, times] : snapshot.overdrawn) *out << " " << limit << "#od=" << times;
}

void PrintTo(const Namespace& space, std::ostream* out) {
  *out << space.name << " (" << space.id << ") " << Name(space.status) << " since "
       << space.created_at.value;
  if (space.deleted_at) *out << ", deleted " << space.deleted_at->value;
}

}  // namespace weir
