#include "weir/zae_table/config/config_store.h"

#include <utility>

#include "weir/zae_table/config/config_apply.h"
#include "weir/zae_table/config/config_conform.h"
#include "weir/zae_table/config/config_listing.h"
#include "weir/zae_table/config/config_reader.h"
#include "weir/zae_table/config/entity_item.h"

namespace weir::dynamo {
namespace {

using Items = std::vector<std::optional<Item>>;

Result<std::vector<std::optional<EntityRecord>>> ReadEntities(const Items& items) {
  std::vector<std::optional<EntityRecord>> found(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i]) continue;
    WEIR_ASSIGN_OR_RETURN(found[i], ReadEntity(*items[i]));
  }
  return found;
}

}  // namespace

void DynamoConfigStore::GetLimits(std::span<const Level> levels, Deadline deadline,
                                  Done<std::vector<std::optional<LevelLimits>>> done) {
  ReadLimits(table_, keys_, levels, deadline, std::move(done));
}

void DynamoConfigStore::ListLimits(const LevelFilter& filter, const PageRequest& page,
                                   Deadline deadline, Done<Page<LevelRecord>> done) {
  ListStoredLimits(table_, keys_, filter, page, deadline, std::move(done));
}

void DynamoConfigStore::GetEntities(std::span<const std::string> ids, Deadline deadline,
                                    Done<std::vector<std::optional<EntityRecord>>> done) {
  std::vector<TableKey> keys;
  for (const std::string& id : ids) keys.push_back(keys_.Entity(id));
  table_.BatchGet(std::move(keys), deadline, [done = std::move(done)](Result<Items> items) mutable {
    if (!items) return done(Fail(std::move(items.error())));
    done(ReadEntities(*items));
  });
}

void DynamoConfigStore::ListEntities(const std::optional<std::string>& parent,
                                     const PageRequest& page, Deadline deadline,
                                     Done<Page<EntityRecord>> done) {
  ListStoredEntities(table_, keys_, parent, page, deadline, std::move(done));
}

void DynamoConfigStore::Apply(std::vector<ConfigChange> changes, Deadline deadline,
                              Done<void> done) {
  done = ForgetDeleted(changes, std::move(done));
  std::vector<Level> levels = EntityLevelsIn(changes);
  if (limits_ == nullptr || levels.empty()) {
    return ApplyConfig(table_, keys_, sources_, std::move(changes), deadline, std::move(done));
  }
  const bool is_deletion =
      changes.size() == 1 && std::holds_alternative<DeleteLimits>(changes.front());
  const auto conform = [&table = table_, keys = keys_, &limits = *limits_, deadline](
                           const std::vector<Level>& concerned, Done<void> next) {
    ConformBuckets(table, keys, limits, concerned, deadline, std::move(next));
  };
  ApplyConfig(
      table_, keys_, sources_, std::move(changes), deadline,
      [conform, levels = std::move(levels), is_deletion,
       done = std::move(done)](Status applied) mutable {
        // The limits are deleted already: the caller may be repeating a deletion after which some
        // buckets were missed.
        const bool is_repeated = !applied && is_deletion && applied.error().code == Code::kNotFound;
        if (!applied && !is_repeated) return done(std::move(applied));
        conform(levels,
                [applied = std::move(applied), done = std::move(done)](Status conformed) mutable {
                  done(conformed ? std::move(applied) : std::move(conformed));
                });
      });
}

Done<void> DynamoConfigStore::ForgetDeleted(std::span<const ConfigChange> changes,
                                            Done<void> done) const {
  std::vector<std::string> deleted;
  for (const ConfigChange& change : changes) {
    if (const auto* gone = std::get_if<DeleteEntity>(&change)) deleted.push_back(gone->id);
  }
  if (deleted.empty() || !gone_) return done;
  return
      [gone = gone_, deleted = std::move(deleted), done = std::move(done)](Status applied) mutable {
        for (const std::string& id : deleted) gone(id);
        done(std::move(applied));
      };
}

}  // namespace weir::dynamo
