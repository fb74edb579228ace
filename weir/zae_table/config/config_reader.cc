#include "weir/zae_table/config/config_reader.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "weir/zae_table/config/config_item.h"

namespace weir::dynamo {
namespace {

// One call of ReadConfigState: reads the limits and buckets of each deleted entity, then all other
// items, then the parents that these items name, then their parents, and so on. Pending requests
// own it.
class Reader : public std::enable_shared_from_this<Reader> {
 public:
  Reader(Table& table, Keys keys, Deadline deadline, Done<ConfigState> done)
      : table_(table), keys_(std::move(keys)), deadline_(deadline), done_(std::move(done)) {}

  void Start(std::span<const ConfigChange> changes) {
    next_ = KeysOf(keys_, changes);
    next_.push_back(keys_.ResourceRegistry());
    next_.push_back(keys_.EntityConfigRegistry());
    const TableKey system = keys_.Config(Level::System());
    if (std::ranges::find(next_, system) == next_.end()) next_.push_back(system);
    std::set<std::string> deleted;
    for (const ConfigChange& change : changes) {
      if (const auto* gone = std::get_if<DeleteEntity>(&change)) deleted.insert(gone->id);
    }
    deleted_.assign(deleted.begin(), deleted.end());
    ReadNextDeleted();
  }

 private:
  void ReadNextDeleted() {
    if (deleted_.empty()) return ReadItems();
    const std::string id = std::move(deleted_.back());
    deleted_.pop_back();
    table_.QueryAll({.index = {},
                     .partition = keys_.EntityPartition(id),
                     .sort_prefix = std::string(kConfigSort),
                     .sort_from = {},
                     .start_after = {}},
                    kMaxConfigs, deadline_,
                    [self = shared_from_this(), id](Result<std::vector<Item>> items) {
                      if (!items) return self->done_(Fail(std::move(items.error())));
                      for (Item& item : *items) {
                        TableKey key = KeyOf(item);
                        self->state_.items.insert_or_assign(std::move(key), std::move(item));
                      }
                      self->ReadBuckets(id);
                    });
  }

  void ReadBuckets(const std::string& id) {
    table_.Query({.index = "GSI3",
                  .partition = keys_.BucketsOf(id),
                  .sort_prefix = "BUCKET#",
                  .sort_from = {},
                  .limit = 1,
                  .start_after = {}},
                 deadline_, [self = shared_from_this(), id](Result<QueryResponse> page) {
                   if (!page) return self->done_(Fail(std::move(page.error())));
                   if (!page->items.empty()) self->state_.with_buckets.insert(id);
                   self->ReadNextDeleted();
                 });
  }

  void ReadItems() {
    if (next_.empty()) return done_(std::move(state_));
    table_.BatchGet(next_, deadline_,
                    [self = shared_from_this()](Result<std::vector<std::optional<Item>>> items) {
                      if (!items) return self->done_(Fail(std::move(items.error())));
                      self->Take(*std::move(items));
                      self->ReadItems();
                    });
  }

  // Stores the items. The parents that the items name are read next, unless already read.
  void Take(std::vector<std::optional<Item>> items) {
    std::set<TableKey> parents;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string* parent = items[i] ? GetText(*items[i], "parent_id") : nullptr;
      if (parent != nullptr && next_[i].sk == kEntitySort) parents.insert(keys_.Entity(*parent));
      state_.items.insert_or_assign(next_[i], std::move(items[i]));
    }
    next_.clear();
    for (const TableKey& parent : parents) {
      if (!state_.items.contains(parent)) next_.push_back(parent);
    }
  }

  Table& table_;
  const Keys keys_;
  const Deadline deadline_;
  Done<ConfigState> done_;
  ConfigState state_;
  std::vector<std::string> deleted_;
  std::vector<TableKey> next_;
};

Result<std::vector<std::optional<LevelLimits>>> ReadLevels(
    const std::vector<Level>& levels, const std::vector<std::optional<Item>>& items) {
  std::vector<std::optional<LevelLimits>> found(levels.size());
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (!items[i]) continue;
    WEIR_ASSIGN_OR_RETURN(found[i], ReadConfig(levels[i], *items[i]));
  }
  return found;
}

}  // namespace

void ReadConfigState(Table& table, const Keys& keys, std::span<const ConfigChange> changes,
                     Deadline deadline, Done<ConfigState> done) {
  std::make_shared<Reader>(table, keys, deadline, std::move(done))->Start(changes);
}

void ReadLimits(Table& table, const Keys& keys, std::span<const Level> levels, Deadline deadline,
                Done<std::vector<std::optional<LevelLimits>>> done) {
  std::vector<TableKey> table_keys;
  for (const Level& level : levels) table_keys.push_back(keys.Config(level));
  table.BatchGet(std::move(table_keys), deadline,
                 [done = std::move(done), asked = std::vector<Level>(levels.begin(), levels.end())](
                     Result<std::vector<std::optional<Item>>> items) mutable {
                   if (!items) return done(Fail(std::move(items.error())));
                   done(ReadLevels(asked, *items));
                 });
}

}  // namespace weir::dynamo
