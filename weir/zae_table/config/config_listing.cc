#include "weir/zae_table/config/config_listing.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/store/listing.h"
#include "weir/zae_table/config/config_cursor.h"
#include "weir/zae_table/config/config_item.h"
#include "weir/zae_table/config/config_scan.h"
#include "weir/zae_table/config/entity_item.h"
#include "weir/zae_table/config/entity_levels.h"

namespace weir::dynamo {
namespace {

constexpr std::string_view kChildSort = "CHILD#";

// A page is read with one record more than its limit, to know whether there is a next page. Removes
// the additional record, and returns the last record of the page; nothing if there is no next page.
template <class Record>
std::optional<Record> CutTo(std::size_t limit, std::vector<Record>& records) {
  if (records.size() <= limit) return std::nullopt;
  records.resize(limit);
  return records.back();
}

// Returns the page size of a query that looks for this number of records. The index also contains
// items of other kinds.
std::size_t PageFor(std::size_t want) {
  return std::clamp<std::size_t>(want < 500 ? want * 2 : 1000, 50, 1000);
}

Level::Kind After(Level::Kind kind) { return static_cast<Level::Kind>(static_cast<int>(kind) + 1); }

// One call of ListStoredLimits. Reads the kinds of levels one after the other (system, resources,
// defaults of entities, entities) until the page is full. Pending requests own it.
class LimitListing : public std::enable_shared_from_this<LimitListing> {
 public:
  LimitListing(Table& table, Keys keys, std::size_t limit, Deadline deadline,
               Done<Page<LevelRecord>> done)
      : table_(table),
        keys_(std::move(keys)),
        limit_(limit),
        deadline_(deadline),
        done_(std::move(done)) {}

  void Start(std::optional<Level::Kind> kind, std::optional<Level> after) {
    after_ = std::move(after);
    kind_ = kind ? *kind : after_ ? after_->kind : Level::Kind::kSystem;
    last_ = kind.value_or(Level::Kind::kEntity);
    Next();
  }

 private:
  using Scan = ConfigScan<LevelRecord>;

  void Next() {
    if (kind_ > last_ || records_.size() > limit_) return Finish();
    if (kind_ == Level::Kind::kSystem) return ReadSystem();
    if (kind_ == Level::Kind::kResource) return ReadRegistry();
    ScanKind({});
  }

  void ReadSystem() {
    if (after_) return Take({});
    table_.Get(keys_.Config(Level::System()), deadline_,
               [self = shared_from_this()](Result<std::optional<Item>> item) {
                 if (!item) return self->done_(Fail(std::move(item.error())));
                 if (!*item) return self->Take({});
                 auto record = ReadLevelRecord(self->keys_, **item);
                 Scan::Found found;
                 if (!record) {
                   found.unreadable.push_back(std::move(record.error().message));
                 } else if (*record) {
                   found.records.push_back(**std::move(record));
                 }
                 self->Take(std::move(found));
               });
  }

  // Adds the resources in the registry, whose items the index may not show yet.
  void ReadRegistry() {
    table_.Get(keys_.ResourceRegistry(), deadline_,
               [self = shared_from_this()](Result<std::optional<Item>> item) {
                 if (!item) return self->done_(Fail(std::move(item.error())));
                 const StringSet* names = *item ? GetSet(**item, "resources") : nullptr;
                 std::vector<TableKey> known;
                 if (names != nullptr) {
                   for (const std::string& name : names->members) {
                     const Level level = Level::Resource(name);
                     if (self->IsWanted(level)) known.push_back(self->keys_.Config(level));
                   }
                 }
                 self->ScanKind(std::move(known));
               });
  }

  void ScanKind(std::vector<TableKey> known) {
    const bool resources = kind_ == Level::Kind::kResource;
    QueryRequest query{.index = "GSI4",
                       .partition = keys_.namespace_id(),
                       .sort_prefix = resources ? keys_.OfResource("") : keys_.EntityPartition(""),
                       .sort_from = {},
                       .limit = PageFor(Want()),
                       .start_after = {}};
    if (after_ && after_->kind == kind_) query.sort_from = keys_.Config(*after_).pk;
    const auto self = shared_from_this();
    Scan::Run(table_,
              {.query = std::move(query),
               .accept =
                   [self](const TableKey& key) {
                     const auto level = LevelAt(self->keys_, key);
                     return level && self->IsWanted(*level);
                   },
               .read = [self](const Item& item) { return ReadLevelRecord(self->keys_, item); },
               .want = Want(),
               .known = std::move(known)},
              deadline_, [self](Result<Scan::Found> found) {
                if (!found) return self->done_(Fail(std::move(found.error())));
                self->Take(*std::move(found));
              });
  }

  bool IsWanted(const Level& level) const {
    return level.kind == kind_ && (!after_ || level > *after_);
  }

  std::size_t Want() const { return limit_ + 1 - records_.size(); }

  void Take(Scan::Found found) {
    std::ranges::move(found.records, std::back_inserter(records_));
    std::ranges::move(found.unreadable, std::back_inserter(unreadable_));
    kind_ = After(kind_);
    Next();
  }

  void Finish() {
    Page<LevelRecord> page{
        .items = std::move(records_), .next = {}, .unreadable = std::move(unreadable_)};
    if (const auto last = CutTo(limit_, page.items)) page.next = CursorOf(last->level);
    done_(std::move(page));
  }

  Table& table_;
  const Keys keys_;
  const std::size_t limit_;
  const Deadline deadline_;
  Done<Page<LevelRecord>> done_;
  std::optional<Level> after_;
  Level::Kind kind_ = Level::Kind::kSystem;
  Level::Kind last_ = Level::Kind::kEntity;
  std::vector<LevelRecord> records_;
  std::vector<std::string> unreadable_;
};

QueryRequest AllEntities(const Keys& keys, const std::string& after) {
  QueryRequest query{.index = "GSI4",
                     .partition = keys.namespace_id(),
                     .sort_prefix = keys.EntityPartition(""),
                     .sort_from = {},
                     .start_after = {}};
  if (!after.empty()) query.sort_from = keys.EntityPartition(after);
  return query;
}

// Returns nothing if the entity does not have this parent any more: the index may lag.
Result<std::optional<EntityRecord>> ReadChild(const Item& item,
                                              const std::optional<std::string>& parent) {
  WEIR_ASSIGN_OR_RETURN(EntityRecord record, ReadEntity(item));
  if (parent && record.entity.parent != parent) return std::nullopt;
  return record;
}

QueryRequest ChildrenOf(const Keys& keys, const std::string& parent, const std::string& after) {
  QueryRequest query{.index = "GSI1",
                     .partition = keys.ChildrenOf(parent),
                     .sort_prefix = std::string(kChildSort),
                     .sort_from = {},
                     .start_after = {}};
  if (!after.empty()) query.sort_from = std::string(kChildSort) + after;
  return query;
}

}  // namespace

std::optional<Level> LevelAt(const Keys& keys, const TableKey& key) {
  const std::string resources = keys.OfResource("");
  const std::string entities = keys.EntityPartition("");
  if (key.pk.starts_with(entities)) return LevelOf(key.pk.substr(entities.size()), key.sk);
  if (key.sk != kConfigSort) return std::nullopt;
  if (key.pk == keys.SystemPartition()) return Level::System();
  if (!key.pk.starts_with(resources)) return std::nullopt;
  return Level::Resource(key.pk.substr(resources.size()));
}

Result<std::optional<LevelRecord>> ReadLevelRecord(const Keys& keys, const Item& item) {
  const auto level = LevelAt(keys, KeyOf(item));
  if (!level) return std::nullopt;
  WEIR_ASSIGN_OR_RETURN(auto limits, ReadConfig(*level, item));
  if (!limits) return std::nullopt;
  return LevelRecord{*level, *std::move(limits)};
}

void ListStoredLimits(Table& table, const Keys& keys, const LevelFilter& filter,
                      const PageRequest& page, Deadline deadline, Done<Page<LevelRecord>> done) {
  auto after = ReadCursor(page, filter);
  if (!after) return done(Fail(std::move(after.error())));
  if (filter.entity) {
    return ListLevelsOfEntity(table, keys, {filter, *std::move(after), LimitOf(page)}, deadline,
                              std::move(done));
  }
  std::make_shared<LimitListing>(table, keys, LimitOf(page), deadline, std::move(done))
      ->Start(filter.kind, *std::move(after));
}

void ListStoredEntities(Table& table, const Keys& keys, const std::optional<std::string>& parent,
                        const PageRequest& page, Deadline deadline, Done<Page<EntityRecord>> done) {
  const char listing = parent ? kChildren : kAllEntities;
  const auto after = ReadEntityCursor(page, listing);
  if (!after) return done(Fail(after.error()));
  QueryRequest query = parent ? ChildrenOf(keys, *parent, *after) : AllEntities(keys, *after);
  query.limit = PageFor(LimitOf(page) + 1);
  const std::string last = after->empty() ? std::string() : keys.EntityPartition(*after);
  ConfigScan<EntityRecord>::Run(
      table,
      {.query = std::move(query),
       .accept = [last](const TableKey& key) { return key.sk == kEntitySort && key.pk > last; },
       .read = [parent](const Item& item) { return ReadChild(item, parent); },
       .want = LimitOf(page) + 1,
       .known = {}},
      deadline,
      [done = std::move(done), limit = LimitOf(page),
       listing](Result<ConfigScan<EntityRecord>::Found> found) mutable {
        if (!found) return done(Fail(std::move(found.error())));
        Page<EntityRecord> result{.items = std::move(found->records),
                                  .next = {},
                                  .unreadable = std::move(found->unreadable)};
        if (const auto cut = CutTo(limit, result.items)) result.next = listing + cut->entity.id;
        done(std::move(result));
      });
}

}  // namespace weir::dynamo
