#include "weir/store/testing/contract_client.h"

#include <utility>

#include "weir/store/config/config_audit.h"

namespace weir {
namespace {

constexpr Deadline kNever = Deadline::Never();

}  // namespace

// Each argument is moved into a local variable of the lambda, which is destroyed before the first
// pump.

Result<Decision> ContractClient::Acquire(std::vector<Charge> charges, UnixMillis now) {
  return Call<Decision>([&](Done<Decision> done) {
    const std::vector<Charge> lent = std::move(charges);
    harness_.backend().buckets().Acquire(lent, now, kNever, std::move(done));
  });
}

Status ContractClient::Adjust(std::vector<Charge> charges, const AdjustTerms& terms,
                              UnixMillis now) {
  return Call<void>([&](Done<void> done) {
    const std::vector<Charge> lent = std::move(charges);
    harness_.backend().buckets().Adjust(lent, terms, now, kNever, std::move(done));
  });
}

Status ContractClient::Adjust(std::vector<Charge> charges, UnixMillis now) {
  return Adjust(std::move(charges), NewAdjustId(), now);
}

Result<std::vector<CreditedLimit>> ContractClient::Credit(BucketCredit credit) {
  return Call<std::vector<CreditedLimit>>([&](Done<std::vector<CreditedLimit>> done) {
    const CreditStamp stamp{.at = harness_.now(), .seed = ++last_id_};
    weir::Credit(harness_.backend(), std::move(credit), stamp, kNever, std::move(done));
  });
}

Result<ContractClient::Records> ContractClient::Read(std::vector<BucketKey> keys) {
  return Call<Records>([&](Done<Records> done) {
    const std::vector<BucketKey> lent = std::move(keys);
    harness_.backend().buckets().Read(lent, kNever, std::move(done));
  });
}

Result<Page<BucketRecord>> ContractClient::List(BucketFilter filter, PageRequest page) {
  return Call<Page<BucketRecord>>([&](Done<Page<BucketRecord>> done) {
    const auto lent = std::pair(std::move(filter), std::move(page));
    harness_.backend().buckets().List(lent.first, lent.second, kNever, std::move(done));
  });
}

Result<std::vector<std::optional<LevelLimits>>> ContractClient::GetLimits(
    std::vector<Level> levels) {
  using Limits = std::vector<std::optional<LevelLimits>>;
  return Call<Limits>([&](Done<Limits> done) {
    const std::vector<Level> lent = std::move(levels);
    harness_.backend().config().GetLimits(lent, kNever, std::move(done));
  });
}

Result<Page<LevelRecord>> ContractClient::ListLimits(const LevelFilter& filter, PageRequest page) {
  return Call<Page<LevelRecord>>([&](Done<Page<LevelRecord>> done) {
    const PageRequest lent = std::move(page);
    harness_.backend().config().ListLimits(filter, lent, kNever, std::move(done));
  });
}

Result<std::vector<std::optional<EntityRecord>>> ContractClient::GetEntities(
    std::vector<std::string> ids) {
  using Entities = std::vector<std::optional<EntityRecord>>;
  return Call<Entities>([&](Done<Entities> done) {
    const std::vector<std::string> lent = std::move(ids);
    harness_.backend().config().GetEntities(lent, kNever, std::move(done));
  });
}

Result<Page<EntityRecord>> ContractClient::ListEntities(std::optional<std::string> parent,
                                                        PageRequest page) {
  return Call<Page<EntityRecord>>([&](Done<Page<EntityRecord>> done) {
    const auto lent = std::pair(std::move(parent), std::move(page));
    harness_.backend().config().ListEntities(lent.first, lent.second, kNever, std::move(done));
  });
}

Status ContractClient::Apply(std::vector<ConfigChange> changes) {
  return Call<void>([&](Done<void> done) {
    harness_.backend().config().Apply(std::move(changes), kNever, std::move(done));
  });
}

Status ContractClient::Append(AuditEvent event) {
  return Call<void>([&](Done<void> done) {
    const AuditEvent lent = std::move(event);
    harness_.backend().audit().Append(lent, kNever, std::move(done));
  });
}

Result<Page<AuditEvent>> ContractClient::ListEvents(std::string subject, PageRequest page) {
  return Call<Page<AuditEvent>>([&](Done<Page<AuditEvent>> done) {
    const auto lent = std::pair(std::move(subject), std::move(page));
    harness_.backend().audit().List(lent.first, lent.second, kNever, std::move(done));
  });
}

Result<std::int64_t> ContractClient::GetRetention() {
  return Call<std::int64_t>([&](Done<std::int64_t> done) {
    harness_.backend().audit().GetRetention(kNever, std::move(done));
  });
}

Status ContractClient::SetRetention(std::int64_t days) {
  return Call<void>([&](Done<void> done) {
    std::vector<AuditEvent> events{RetentionEvent(kAuditRetentionDays, days)};
    AuditStamp(++last_id_).Put(events, harness_.now());
    harness_.backend().audit().SetRetention(days, events.front(), kNever, std::move(done));
  });
}

Status ContractClient::AddUsage(UsageSnapshot added) {
  return Call<void>([&](Done<void> done) {
    const UsageSnapshot lent = std::move(added);
    harness_.backend().usage().Add(lent, kNever, std::move(done));
  });
}

Result<Page<UsageSnapshot>> ContractClient::ListUsage(UsageFilter filter, PageRequest page) {
  return Call<Page<UsageSnapshot>>([&](Done<Page<UsageSnapshot>> done) {
    const auto lent = std::pair(std::move(filter), std::move(page));
    harness_.backend().usage().List(lent.first, lent.second, kNever, std::move(done));
  });
}

Result<Namespace> ContractClient::Register(std::string name) {
  return Call<Namespace>([&](Done<Namespace> done) {
    const std::string lent = std::move(name);
    harness_.backend().namespaces().Register(lent, kNever, std::move(done));
  });
}

Result<std::optional<Namespace>> ContractClient::GetNamespace(std::string name) {
  return Call<std::optional<Namespace>>([&](Done<std::optional<Namespace>> done) {
    const std::string lent = std::move(name);
    harness_.backend().namespaces().Get(lent, kNever, std::move(done));
  });
}

Result<Page<Namespace>> ContractClient::ListNamespaces(PageRequest page) {
  return Call<Page<Namespace>>([&](Done<Page<Namespace>> done) {
    const PageRequest lent = std::move(page);
    harness_.backend().namespaces().List(lent, kNever, std::move(done));
  });
}

Result<Namespace> ContractClient::Delete(std::string name) {
  return Call<Namespace>([&](Done<Namespace> done) {
    const std::string lent = std::move(name);
    harness_.backend().namespaces().Delete(lent, kNever, std::move(done));
  });
}

Result<Namespace> ContractClient::Recover(std::string id) {
  return Call<Namespace>([&](Done<Namespace> done) {
    const std::string lent = std::move(id);
    harness_.backend().namespaces().Recover(lent, kNever, std::move(done));
  });
}

Result<Page<Namespace>> ContractClient::Orphans(PageRequest page) {
  return Call<Page<Namespace>>([&](Done<Page<Namespace>> done) {
    const PageRequest lent = std::move(page);
    harness_.backend().namespaces().Orphans(lent, kNever, std::move(done));
  });
}

Result<std::uint64_t> ContractClient::Purge(std::string id) {
  return Call<std::uint64_t>([&](Done<std::uint64_t> done) {
    const std::string lent = std::move(id);
    harness_.backend().namespaces().Purge(lent, kNever, std::move(done));
  });
}

Result<std::string> ContractClient::Resolve(std::string name_or_id) {
  return Call<std::string>([&](Done<std::string> done) {
    const std::string lent = std::move(name_or_id);
    harness_.backend().namespaces().Resolve(lent, kNever, std::move(done));
  });
}

}  // namespace weir
