#include "weir/embedded/embedded_config.h"

#include <cstdint>
#include <utility>
#include <variant>

#include "weir/embedded/file/state_file.h"
#include "weir/store/config/config_transaction.h"

namespace weir {

EmbeddedConfig::EmbeddedConfig(ConfigTable table, BucketTable& buckets, AuditStamp stamp,
                               Committer& committer)
    : buckets_(buckets),
      committer_(committer),
      snapshots_(std::move(table)),
      stamp_(std::move(stamp)) {}

void EmbeddedConfig::GetLimits(std::span<const Level> levels, Deadline,
                               Done<std::vector<std::optional<LevelLimits>>> done) {
  done(committer_.CheckOpen().and_then([&] {
    return snapshots_.Read([&](const ConfigTable& table) { return table.ReadLimits(levels); });
  }));
}

void EmbeddedConfig::ListLimits(const LevelFilter& filter, const PageRequest& page, Deadline,
                                Done<Page<LevelRecord>> done) {
  done(committer_.CheckOpen().and_then([&] {
    return snapshots_.Read(
        [&](const ConfigTable& table) { return table.ListLimits(filter, page); });
  }));
}

void EmbeddedConfig::GetEntities(std::span<const std::string> ids, Deadline,
                                 Done<std::vector<std::optional<EntityRecord>>> done) {
  done(committer_.CheckOpen().and_then([&] {
    return snapshots_.Read([&](const ConfigTable& table) { return table.ReadEntities(ids); });
  }));
}

void EmbeddedConfig::ListEntities(const std::optional<std::string>& parent, const PageRequest& page,
                                  Deadline, Done<Page<EntityRecord>> done) {
  done(committer_.CheckOpen().and_then([&] {
    return snapshots_.Read(
        [&](const ConfigTable& table) { return table.ListEntities(parent, page); });
  }));
}

void EmbeddedConfig::Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done) {
  if (Status ready = committer_.CheckReady(); !ready) return done(std::move(ready));
  auto job = [this, changes = std::move(changes), deadline](StateFile& file) -> Status {
    if (deadline.ExpiredAt(committer_.Now())) {
      return Fail(Code::kDeadlineExceeded,
                  file.name() + ": the changes waited too long; nothing was changed");
    }
    return ApplyTo(file, changes);
  };
  committer_.Submit({deadline, std::move(job), std::move(done)});
}

// Writes to the file, erases buckets, and publishes, in this order: no reader sees changes that may
// still fail, or a deleted entity whose buckets still exist.
Status EmbeddedConfig::ApplyTo(StateFile& file, std::span<const ConfigChange> changes) {
  const ConfigTable::HasBuckets has_buckets = [this](const std::string& entity) {
    return !BucketsOf(entity, 1).empty();
  };
  ConfigTable& draft = snapshots_.Draft();
  // After an error before Commit, the destructor of `transaction` restores the draft.
  ConfigTransaction transaction(draft, has_buckets);
  std::vector<AuditEvent> events;
  WEIR_RETURN_IF_ERROR(transaction.Make(changes, &events));
  stamp_.Put(events, file.moment().label);
  if (Status stored = StoreUse(file, changes); !stored) return stored;
  Status written = file.WriteConfig(draft, changes, RemovedBuckets(changes), events);
  if (!written) return Fail(Code::kUnavailable, std::move(written.error().message));
  transaction.Commit();
  for (const ConfigChange& change : changes) {
    if (const auto* deleted = std::get_if<DeleteEntity>(&change)) buckets_.EraseEntity(deleted->id);
  }
  snapshots_.Publish(changes);
  return {};
}

// The file stores the use of a bucket in its state, which the next transaction removes.
Status EmbeddedConfig::StoreUse(StateFile& file, std::span<const ConfigChange> changes) {
  bool has_deletions = false;
  for (const ConfigChange& change : changes) {
    const auto* deleted = std::get_if<DeleteEntity>(&change);
    if (deleted == nullptr) continue;
    buckets_.EndHours(deleted->id);
    has_deletions = true;
  }
  if (!has_deletions) return {};
  file.log().AddChanges(buckets_, /*max_use_buckets=*/0);
  const auto stored = file.log().Append(buckets_.Now());
  if (!stored) return Fail(Code::kUnavailable, stored.error().message);
  return {};
}

std::vector<BucketKey> EmbeddedConfig::RemovedBuckets(std::span<const ConfigChange> changes) const {
  std::vector<BucketKey> removed;
  for (const ConfigChange& change : changes) {
    const auto* deleted = std::get_if<DeleteEntity>(&change);
    if (deleted == nullptr) continue;
    for (BucketRecord& record : BucketsOf(deleted->id, SIZE_MAX)) {
      removed.push_back(std::move(record.key));
    }
  }
  return removed;
}

std::vector<BucketRecord> EmbeddedConfig::BucketsOf(const std::string& entity,
                                                    std::size_t most) const {
  auto page = buckets_.List({.entity = entity, .resource = {}}, {.cursor = {}, .limit = most});
  return page ? std::move(page->items) : std::vector<BucketRecord>();
}

}  // namespace weir
