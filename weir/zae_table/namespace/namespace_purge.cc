#include "weir/zae_table/namespace/namespace_purge.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "weir/dynamodb/done_chain.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {
namespace {

constexpr std::size_t kPageOfKeys = 1000;
constexpr std::size_t kMaxSystemItems = 100'000;

void AddNames(const List& list, std::vector<std::string>& names) {
  for (const Value& value : list) {
    if (const auto* name = std::get_if<std::string>(&value.held)) names.push_back(*name);
  }
}

// Other programs write these lists too, and DynamoDB refuses a batch that names a key twice.
std::vector<TableKey> Distinct(std::vector<TableKey> keys) {
  std::ranges::sort(keys);
  const auto repeated = std::ranges::unique(keys);
  keys.erase(repeated.begin(), repeated.end());
  return keys;
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
  if (entities == nullptr) return Distinct(std::move(managed));
  for (const auto& [entity, value] : *entities) {
    std::vector<std::string> names;
    if (const List* list = std::get_if<List>(&value.held)) AddNames(*list, names);
    for (std::string& resource : names) {
      // In the key, the name of the default resource is a name like any other.
      managed.push_back(keys.Config(Level::Entity(entity, std::move(resource))));
    }
  }
  return Distinct(std::move(managed));
}

std::vector<TableKey> KeysOf(const std::vector<Item>& items) {
  std::vector<TableKey> keys;
  keys.reserve(items.size());
  for (const Item& item : items) keys.push_back(KeyOf(item));
  return keys;
}

// One purge. Each step starts the next one.
//
//   DeleteManaged --> Sweep --> FindExisting --> DeleteListed --> EndSweep --> DeleteSystem
//                       ^                             |              |
//                       +--------- next page ---------+              |
//                       +------------- an item was found ------------+
struct PurgeCall : std::enable_shared_from_this<PurgeCall> {
  PurgeCall(Table& the_table, std::string_view id) : table(the_table), keys(std::string(id)) {}

  Table& table;
  Keys keys;
  Deadline deadline = Deadline::Never();
  Done<std::uint64_t> done;
  std::uint64_t deleted = 0;
  bool sweep_found_some = false;

  // Deletes the limits that the provisioner's record names.
  void DeleteManaged();
  // Deletes these limits, as they were read.
  void DeleteLimits(std::vector<TableKey> managed, const std::vector<std::optional<Item>>& items);
  // Reads a page of the index.
  void Sweep(std::optional<Item> start_after);
  // Finds out which items of the page still exist.
  void FindExisting(QueryResponse page);
  // Deletes the items of a page that exist.
  void DeleteListed(std::vector<TableKey> listed, std::optional<Item> last_key);
  // Sweeps again if this sweep found an item.
  void EndSweep();
  // Deletes the system partition, and reports the result.
  void DeleteSystem();
  // Deletes these items, and adds their number to `deleted`.
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

void PurgeCall::Delete(std::vector<TableKey> some, Done<void> next) {
  deleted += some.size();
  table.DeleteAll(std::move(some), deadline, std::move(next));
}

void PurgeCall::DeleteManaged() {
  const TableKey provisioner{keys.SystemPartition(), "#PROVISIONER"};
  table.Get(provisioner, deadline,
            OrEnd<std::optional<Item>>([](PurgeCall& self, const std::optional<Item>& record) {
              if (!record) return self.Sweep(std::nullopt);
              std::vector<TableKey> managed = ManagedBy(*record, self.keys);
              std::vector<TableKey> wanted = managed;
              self.table.BatchGet(std::move(wanted), self.deadline,
                                  self.OrEnd<std::vector<std::optional<Item>>>(
                                      [managed = std::move(managed)](PurgeCall& purging,
                                                                     const auto& items) mutable {
                                        purging.DeleteLimits(std::move(managed), items);
                                      }));
            }));
}

// The sweeps do not find these limits any more, so those that the index lists are counted here.
void PurgeCall::DeleteLimits(std::vector<TableKey> managed,
                             const std::vector<std::optional<Item>>& items) {
  deleted += static_cast<std::uint64_t>(std::ranges::count_if(
      items, [](const auto& item) { return item && item->contains("GSI4PK"); }));
  table.DeleteAll(std::move(managed), deadline,
                  OrEnd<void>([](PurgeCall& self) { self.Sweep(std::nullopt); }));
}

void PurgeCall::Sweep(std::optional<Item> start_after) {
  table.Query({.index = "GSI4",
               .partition = keys.namespace_id(),
               .sort_prefix = {},
               .limit = kPageOfKeys,
               .start_after = std::move(start_after)},
              deadline, OrEnd<QueryResponse>([](PurgeCall& self, QueryResponse page) {
                self.FindExisting(std::move(page));
              }));
}

void PurgeCall::FindExisting(QueryResponse page) {
  std::vector<TableKey> listed = KeysOf(page.items);
  if (listed.empty()) return DeleteListed({}, std::move(page.last_key));
  // The index may still list items that an earlier sweep, or an earlier purge, has deleted.
  std::vector<TableKey> wanted = listed;
  table.BatchGet(std::move(wanted), deadline,
                 OrEnd<std::vector<std::optional<Item>>>(
                     [listed = std::move(listed), last_key = std::move(page.last_key)](
                         PurgeCall& self, const std::vector<std::optional<Item>>& items) mutable {
                       std::vector<TableKey> existing;
                       for (std::size_t i = 0; i < items.size(); ++i) {
                         if (items[i]) existing.push_back(std::move(listed[i]));
                       }
                       self.DeleteListed(std::move(existing), std::move(last_key));
                     }));
}

void PurgeCall::DeleteListed(std::vector<TableKey> listed, std::optional<Item> last_key) {
  if (!listed.empty()) sweep_found_some = true;
  Delete(std::move(listed), OrEnd<void>([last_key = std::move(last_key)](PurgeCall& self) mutable {
           if (last_key) return self.Sweep(std::move(last_key));
           self.EndSweep();
         }));
}

void PurgeCall::EndSweep() {
  if (!std::exchange(sweep_found_some, false)) return DeleteSystem();
  Sweep(std::nullopt);
}

void PurgeCall::DeleteSystem() {
  table.QueryAll(
      {.index = {}, .partition = keys.SystemPartition(), .sort_prefix = {}}, kMaxSystemItems,
      deadline, OrEnd<std::vector<Item>>([](PurgeCall& self, const std::vector<Item>& items) {
        self.Delete(KeysOf(items),
                    self.OrEnd<void>([](PurgeCall& purging) { purging.done(purging.deleted); }));
      }));
}

}  // namespace

void PurgeData(Table& table, std::string_view namespace_id, Deadline deadline,
               Done<std::uint64_t> done) {
  const auto purging = std::make_shared<PurgeCall>(table, namespace_id);
  purging->deadline = deadline;
  purging->done = std::move(done);
  purging->DeleteManaged();
}

}  // namespace weir::dynamo
