#include "weir/embedded/rows/config_snapshots.h"

#include <string>

namespace weir {

ConfigSnapshots::Reading::Reading(const ConfigSnapshots& snapshots) : of(snapshots) {
  const MutexLock lock(of.mutex_);
  version = of.published_;
  ++version->readers;
}

ConfigSnapshots::Reading::~Reading() {
  const MutexLock lock(of.mutex_);
  --version->readers;
}

ConfigTable& ConfigSnapshots::Draft() {
  if (!draft_)
    draft_ = std::make_shared<Version>(Read([](const auto& table) { return Version{table}; }));
  return draft_->table;
}

void ConfigSnapshots::Publish(std::span<const ConfigChange> changes) {
  bool is_read;
  {
    const MutexLock lock(mutex_);
    published_.swap(draft_);
    is_read = draft_->readers > 0;
  }
  // The draft is now the version that was published before. If it still has readers, they keep it
  // alive, and the next draft is a copy. No further reader can begin to use it.
  if (is_read) return draft_.reset();
  // Changes that were valid once are valid again in the same table. Whether an entity has buckets
  // may have changed since, so that is not checked again.
  const Status repeated = draft_->table.Apply(changes, [](const std::string&) { return true; });
  if (!repeated) draft_.reset();
}

}  // namespace weir
