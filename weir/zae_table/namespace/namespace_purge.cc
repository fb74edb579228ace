#include "weir/zae_table/namespace/namespace_purge.h"

#include <memory>
#include <utility>
#include <vector>

#include "weir/dynamodb/done_chain.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {
namespace {

constexpr std::size_t kPageOfKeys = 1000;
constexpr std::size_t kMostSystemItems = 100'000;

void AddNames(const List& list, std::vector<std::string>& names) {
  for (const Value& value : list) {
    if (const auto* name = std::get_if<std::string>(&value.held)) names.push_back(*name);
  }
}

// Returns the keys of the limits that a provisioner's record lists as managed.
std::vector<TableKey> ManagedBy(const Item& provisioner, const Keys& keys) {
  std::vector<TableKey> managed;
  std::vector<std::string> resources;
  if (const List* list = GetList(provisioner, "managed_resources")) AddNames(*list, resources);
  managed.reserve(resources.size());
  for (std::string& resource : resources) {
    managed.push_back(keys.Config(Level::Resource(std::move(resource))));
  }
  const Item* entities = GetMap(provisioner, "managed_entities");
  if (entities == nullptr) return managed;
  for (const auto& [entity, value] : *entities) {
    std::vector<std::string> on;
    if (const List* list = std::get_if<List>(&value.held)) AddNames(*list, on);
    for (std::string& resource : on) {
      // The default's name is part of the key like any other.
      managed.push_back(keys.Config(Level::Entity(entity, std::move(resource))));
    }
  }
  return managed;
}

std::vector<TableKey> KeysOf(const std::vector<Item>& items) {
  std::vector<TableKey> keys;
  keys.reserve(items.size());
  for (const Item& item : items) keys.push_back(KeyOf(item));
  return keys;
}

// One purge. Each step starts the next one.
//
//   DeleteManaged --> Sweep --> Take --> DeleteListed --> EndSweep --> DeleteSystem --> done
//                       ^                     |              |
//                       +----- next page -----+--------------+
//                                                an item was found
struct Purging : std::enable_shared_from_this<Purging> {
  Purging(Table& the_table, std::string_view id) : table(the_table), keys(std::string(id)) {}

  Table& table;
  Keys keys;
  Deadline deadline = Deadline::Never();
  Done<std::uint64_t> done;
  std::uint64_t deleted = 0;
  bool is_first_sweep = true;
  bool sweep_found_some = false;

  // Deletes the limits that the provisioner's record names.
  void DeleteManaged();
  // Reads a page of the index.
  void Sweep(std::optional<Item> start_after);
  // Finds out which items of the page still exist; the first sweep does not check that.
  void Take(QueryAnswer page);
  // Deletes the items of a page that exist.
  void DeleteListed(std::vector<TableKey> listed, std::optional<Item> last_key);
  // Sweeps again if this sweep found an item.
  void EndSweep();
  // Deletes the system partition, and reports the result.
  void DeleteSystem();
  // Deletes and counts.
  void Delete(std::vector<TableKey> some, Done<void> next);

  // Returns a Done that ends the purge on an error, and calls `next` with a value.
  template <class T, class Next>
  Done<T> OrEnd(Next next) {
    return [self = shared_from_this(), next = std::move(next)](Result<T> result) mutable {
      if (!result) return self->done(Fail(std::move(result.error())));
      if constexpr (std::is_void_v<T>) {
        next(*self);
      } else {
        next(*self, std::move(*result));
      }
    };
  }
};

void Purging::Delete(std::vector<TableKey> some, Done<void> next) {
  deleted += some.size();
  table.DeleteAll(std::move(some), deadline, std::move(next));
}

void Purging::DeleteManaged() {
  const TableKey provisioner{keys.SystemPartition(), "#PROVISIONER"};
  table.Get(provisioner, deadline,
            OrEnd<std::optional<Item>>([](Purging& self, const std::optional<Item>& record) {
              if (!record) return self.Sweep(std::nullopt);
              // Some may be gone, or be listed in the index too, so only the items that the sweeps
              // find are counted.
              self.table.DeleteAll(
                  ManagedBy(*record, self.keys), self.deadline,
                  self.OrEnd<void>([](Purging& purging) { purging.Sweep(std::nullopt); }));
            }));
}

void Purging::Sweep(std::optional<Item> start_after) {
  table.Query({.index = "GSI4",
               .partition = keys.namespace_id(),
               .sort_prefix = {},
               .limit = kPageOfKeys,
               .start_after = std::move(start_after)},
              deadline, OrEnd<QueryAnswer>([](Purging& self, QueryAnswer page) {
                self.Take(std::move(page));
              }));
}

void Purging::Take(QueryAnswer page) {
  std::vector<TableKey> listed = KeysOf(page.items);
  if (is_first_sweep || listed.empty()) {
    return DeleteListed(std::move(listed), std::move(page.last_key));
  }
  // The index may still list items that an earlier sweep deleted.
  std::vector<TableKey> asked = listed;
  table.BatchGet(std::move(asked), deadline,
                 OrEnd<std::vector<std::optional<Item>>>(
                     [listed = std::move(listed), last_key = std::move(page.last_key)](
                         Purging& self, const std::vector<std::optional<Item>>& items) mutable {
                       std::vector<TableKey> there;
                       for (std::size_t i = 0; i < items.size(); ++i) {
                         if (items[i]) there.push_back(std::move(listed[i]));
                       }
                       self.DeleteListed(std::move(there), std::move(last_key));
                     }));
}

void Purging::DeleteListed(std::vector<TableKey> listed, std::optional<Item> last_key) {
  if (!listed.empty()) sweep_found_some = true;
  Delete(std::move(listed), OrEnd<void>([last_key = std::move(last_key)](Purging& self) mutable {
           if (last_key) return self.Sweep(std::move(last_key));
           self.EndSweep();
         }));
}

void Purging::EndSweep() {
  is_first_sweep = false;
  if (!std::exchange(sweep_found_some, false)) return DeleteSystem();
  Sweep(std::nullopt);
}

void Purging::DeleteSystem() {
  table.QueryAll(
      {.index = {}, .partition = keys.SystemPartition(), .sort_prefix = {}}, kMostSystemItems,
      deadline, OrEnd<std::vector<Item>>([](Purging& self, const std::vector<Item>& items) {
        self.Delete(KeysOf(items),
                    self.OrEnd<void>([](Purging& purging) { purging.done(purging.deleted); }));
      }));
}

}  // namespace

void PurgeData(Table& table, std::string_view namespace_id, Deadline deadline,
               Done<std::uint64_t> done) {
  const auto purging = std::make_shared<Purging>(table, namespace_id);
  purging->deadline = deadline;
  purging->done = std::move(done);
  purging->DeleteManaged();
}

}  // namespace weir::dynamo
