#include "weir/zae_table/namespace/namespaces.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "weir/dynamodb/done_chain.h"
#include "weir/dynamodb/paging.h"
#include "weir/model/identifier.h"
#include "weir/model/namespace_name.h"
#include "weir/model/quoted.h"
#include "weir/store/config/namespace_table.h"
#include "weir/zae_table/keys.h"
#include "weir/zae_table/namespace/namespace_change.h"
#include "weir/zae_table/namespace/namespace_purge.h"

namespace weir::dynamo {
namespace {

constexpr int kMaxTries = 5;
constexpr std::size_t kMaxRecords = 100'000;

// The orphans after the cursor, in a page.
Page<Namespace> PageOf(std::vector<Namespace> orphans, const PageRequest& request) {
  const auto is_before = [&](const Namespace& space) { return space.id <= request.cursor; };
  std::erase_if(orphans, is_before);
  Page<Namespace> page{std::move(orphans), ""};
  if (page.items.size() <= request.limit) return page;
  page.items.resize(request.limit);
  page.next = page.items.back().id;
  return page;
}

Result<std::vector<Namespace>> ReadAll(const std::vector<Item>& records) {
  std::vector<Namespace> spaces;
  for (const Item& record : records) {
    WEIR_ASSIGN_OR_RETURN(Namespace space, ReadNamespace(record));
    spaces.push_back(std::move(space));
  }
  return spaces;
}

void ListRecords(Table& table, std::string_view prefix, Deadline deadline,
                 Done<std::vector<Namespace>> done) {
  table.QueryAll({.index = {}, .partition = VersionRecord().pk, .sort_prefix = std::string(prefix)},
                 kMaxRecords, deadline,
                 Then<std::vector<Item>>(std::move(done), [](const std::vector<Item>& records,
                                                             Done<std::vector<Namespace>> next) {
                   next(ReadAll(records));
                 }));
}

void GetRecord(Table& table, const TableKey& key, Deadline deadline,
               Done<std::optional<Namespace>> done) {
  table.Get(key, deadline,
            Then<std::optional<Item>>(std::move(done), [](const std::optional<Item>& record,
                                                          Done<std::optional<Namespace>> next) {
              if (!record) return next(std::nullopt);
              next(ReadNamespace(*record));
            }));
}

// The error for a name that no forward record has.
struct Unregistered {
  std::string name;
  Error error;
  Deadline deadline;
};

// Fails with the error, or with the id to recover if a deleted namespace has the name. The reverse
// records of a name without a forward one are those of deleted namespaces.
template <typename T>
void FailUnregistered(Table& table, Unregistered found, Done<T> done) {
  const Deadline deadline = found.deadline;
  ListRecords(table, kReversePrefix, deadline,
              [found = std::move(found),
               done = std::move(done)](Result<std::vector<Namespace>> by_id) mutable {
                done(OrRecoverable(std::move(found.error), found.name,
                                   std::move(by_id).value_or(std::vector<Namespace>{})));
              });
}

using ReadRecords = void (*)(Table&, std::string_view, Deadline, Done<NamespaceRecords>);

// Reads the forward record, then the reverse record of the id in it.
void ReadByName(Table& table, std::string_view name, Deadline deadline,
                Done<NamespaceRecords> done) {
  const auto forward = [&table, deadline](std::optional<Namespace> found,
                                          Done<NamespaceRecords> next) {
    if (!found) return next(NamespaceRecords{});
    const TableKey reverse = NamespaceReverse(found->id);
    GetRecord(
        table, reverse, deadline,
        Then<std::optional<Namespace>>(
            std::move(next), [found](std::optional<Namespace> by_id, Done<NamespaceRecords> then) {
              then(NamespaceRecords{found, std::move(by_id)});
            }));
  };
  GetRecord(table, NamespaceForward(name), deadline,
            Then<std::optional<Namespace>>(std::move(done), forward));
}

// Reads the reverse record, then the forward record of the name in it.
void ReadById(Table& table, std::string_view id, Deadline deadline, Done<NamespaceRecords> done) {
  const auto reverse = [&table, deadline](std::optional<Namespace> found,
                                          Done<NamespaceRecords> next) {
    if (!found) return next(NamespaceRecords{});
    const TableKey forward = NamespaceForward(found->name);
    GetRecord(
        table, forward, deadline,
        Then<std::optional<Namespace>>(std::move(next), [found](std::optional<Namespace> by_name,
                                                                Done<NamespaceRecords> then) {
          then(NamespaceRecords{std::move(by_name), found});
        }));
  };
  GetRecord(table, NamespaceReverse(id), deadline,
            Then<std::optional<Namespace>>(std::move(done), reverse));
}

// A change of both records. Another process may change them between the read and the write; then
// the write fails, and the change begins again, at most kMaxTries times.
//
//   Begin (read) --> DecideAndWrite (decide, write) --> done
//        ^                   |
//        +-------------------+
//          the write conflicts
struct Change {
  Table& table;
  RandomBits random;
  std::string name_or_id;
  ReadRecords read;
  std::function<DecidedWrites(NamespaceRecords&)> decide;
  Deadline deadline;
  Done<NamespaceRecords> done;
  int tries = 0;
};

void Begin(std::unique_ptr<Change> owned);

void DecideAndWrite(std::unique_ptr<Change> owned, NamespaceRecords records) {
  Change& change = *owned;
  const DecidedWrites writes = change.decide(records);
  if (!writes) return change.done(Fail(writes.error()));
  if (writes->empty()) return change.done(std::move(records));
  const std::string token = fmt::format("{:016x}{:016x}", change.random(), change.random());
  auto on_written = [owned = std::move(owned), records = std::move(records)](
                        tl::expected<WriteResponse, WriteFailure> result) mutable {
    if (result) return owned->done(std::move(records));
    const FailureClass kind = result.error().kind;
    const bool lost = kind == FailureClass::kConditional || kind == FailureClass::kConflict;
    if (!lost) return owned->done(Fail(std::move(result.error().error)));
    if (++owned->tries < kMaxTries) return Begin(std::move(owned));
    owned->done(Fail(Code::kAborted,
                     fmt::format("namespace {}: others changed it at the same time; try again",
                                 Quoted(owned->name_or_id))));
  };
  change.table.TransactPatiently(*writes, token, change.deadline, std::move(on_written));
}

void Begin(std::unique_ptr<Change> owned) {
  Change& change = *owned;
  change.read(change.table, change.name_or_id, change.deadline,
              [owned = std::move(owned)](Result<NamespaceRecords> records) mutable {
                if (!records) return owned->done(Fail(std::move(records.error())));
                DecideAndWrite(std::move(owned), std::move(*records));
              });
}

void Start(Change change) { Begin(std::make_unique<Change>(std::move(change))); }

// Returns a Done that reports one of the two records.
Done<NamespaceRecords> ReportRecord(std::optional<Namespace> NamespaceRecords::* which,
                                    Done<Namespace> done) {
  return Then<NamespaceRecords>(std::move(done),
                                [which](NamespaceRecords records, Done<Namespace> next) {
                                  next(std::move(*(records.*which)));
                                });
}

// Deletes the reverse record after the data: until then an interrupted purge can be continued.
void EndPurge(Table& table, std::string_view id, Deadline deadline, Done<void> done) {
  table.Apply(EndPurgeWrite(id), true, deadline,
              [done = std::move(done)](tl::expected<WriteResponse, WriteFailure> ended) mutable {
                if (ended) return done({});
                // The record is gone: another purge has deleted it, or the response to an attempt
                // of ours was lost.
                const bool is_gone =
                    ended.error().kind == FailureClass::kConditional && !ended.error().old_item;
                if (is_gone) return done({});
                done(Fail(std::move(ended.error().error)));
              });
}

}  // namespace

void Namespaces::Register(std::string_view name, Deadline deadline, Done<Namespace> done) {
  if (Status valid = CheckNamespace(name); !valid) return done(Fail(std::move(valid.error())));
  auto decide = [this, name = std::string(name)](NamespaceRecords& records) {
    return DecideRegister(
        {.id = NewNamespaceId(random_), .name = name, .created_at = clock_.WallNow()}, records);
  };
  Start({table_, random_, std::string(name), ReadByName, std::move(decide), deadline,
         ReportRecord(&NamespaceRecords::forward, std::move(done))});
}

void Namespaces::Get(std::string_view name, Deadline deadline,
                     Done<std::optional<Namespace>> done) {
  if (Status valid = CheckNamespace(name); !valid) return done(Fail(std::move(valid.error())));
  GetRecord(table_, NamespaceForward(name), deadline, std::move(done));
}

void Namespaces::List(const PageRequest& page, Deadline deadline, Done<Page<Namespace>> done) {
  if (Status valid = CheckNamePage(page); !valid) return done(Fail(std::move(valid.error())));
  PagedQuery<Namespace> query;
  query.request.partition = VersionRecord().pk;
  query.request.sort_prefix = kForwardPrefix;
  query.limit = page.limit;
  query.read = [](const Item& record) -> Result<std::optional<Namespace>> {
    return ReadNamespace(record);
  };
  query.lists_unreadable = true;
  query.cursor = [](const Namespace& last) { return last.name; };
  if (!page.cursor.empty()) query.request.start_after = ToItem(NamespaceForward(page.cursor));
  ReadPage(table_, std::move(query), deadline, std::move(done));
}

void Namespaces::Delete(std::string_view name, Deadline deadline, Done<Namespace> done) {
  if (Status valid = CheckNamespace(name); !valid) return done(Fail(std::move(valid.error())));
  auto decide = [this, name = std::string(name)](NamespaceRecords& records) {
    return DecideDelete(name, records, clock_.WallNow());
  };
  auto report = [&table = table_, name = std::string(name), deadline,
                 done = std::move(done)](Result<Namespace> deleted) mutable {
    const bool is_unregistered = !deleted && deleted.error().code == Code::kNotFound;
    if (!is_unregistered) return done(std::move(deleted));
    FailUnregistered(table, {std::move(name), std::move(deleted.error()), deadline},
                     std::move(done));
  };
  Start({table_, random_, std::string(name), ReadByName, std::move(decide), deadline,
         ReportRecord(&NamespaceRecords::reverse, std::move(report))});
}

void Namespaces::Recover(std::string_view id, Deadline deadline, Done<Namespace> done) {
  if (Status valid = CheckNamespaceId(id); !valid) return done(Fail(std::move(valid.error())));
  auto decide = [id = std::string(id)](NamespaceRecords& records) {
    return DecideRecover(id, records);
  };
  Start({table_, random_, std::string(id), ReadById, std::move(decide), deadline,
         ReportRecord(&NamespaceRecords::reverse, std::move(done))});
}

void Namespaces::Orphans(const PageRequest& page, Deadline deadline, Done<Page<Namespace>> done) {
  if (Status valid = CheckIdPage(page); !valid) return done(Fail(std::move(valid.error())));
  // The ids are read first. So a namespace that is registered between the two reads is in neither
  // list, or only among the names.
  ListRecords(table_, kReversePrefix, deadline,
              Then<std::vector<Namespace>>(
                  std::move(done), [&table = table_, page, deadline](std::vector<Namespace> by_id,
                                                                     Done<Page<Namespace>> next) {
                    ListRecords(table, kForwardPrefix, deadline,
                                Then<std::vector<Namespace>>(
                                    std::move(next), [by_id = std::move(by_id), page](
                                                         const std::vector<Namespace>& by_name,
                                                         Done<Page<Namespace>> then) {
                                      then(PageOf(OrphansAmong(by_id, by_name), page));
                                    }));
                  }));
}

void Namespaces::Purge(std::string_view id, Deadline deadline, Done<std::uint64_t> done) {
  if (Status valid = CheckNamespaceId(id); !valid) return done(Fail(std::move(valid.error())));
  auto decide = [id = std::string(id)](NamespaceRecords& records) {
    return DecidePurge(id, records);
  };
  auto end = [&table = table_, id = std::string(id), deadline](std::uint64_t deleted,
                                                               Done<std::uint64_t> next) {
    EndPurge(table, id, deadline,
             ThenVoid(std::move(next), [deleted](Done<std::uint64_t> then) { then(deleted); }));
  };
  auto delete_data = [&table = table_, id = std::string(id), deadline, end](
                         const NamespaceRecords&, Done<std::uint64_t> next) {
    PurgeData(table, id, deadline, Then<std::uint64_t>(std::move(next), end));
  };
  Start({table_, random_, std::string(id), ReadById, std::move(decide), deadline,
         Then<NamespaceRecords>(std::move(done), std::move(delete_data))});
}

void Namespaces::Resolve(std::string_view name_or_id, Deadline deadline, Done<std::string> done) {
  if (Status valid = CheckNameOrId(name_or_id); !valid) {
    return done(Fail(std::move(valid.error())));
  }
  if (const auto id = ParseIdReference(name_or_id)) {
    return GetRecord(
        table_, NamespaceReverse(*id), deadline,
        Then<std::optional<Namespace>>(
            std::move(done),
            [id = std::string(*id)](const std::optional<Namespace>& found, Done<std::string> next) {
              next(ResolveId(id, found));
            }));
  }
  GetRecord(
      table_, NamespaceForward(name_or_id), deadline,
      Then<std::optional<Namespace>>(
          std::move(done), [&table = table_, name = std::string(name_or_id), deadline](
                               const std::optional<Namespace>& found, Done<std::string> next) {
            if (found) return next(found->id);
            FailUnregistered(table, {name, NotRegistered(name).value(), deadline}, std::move(next));
          }));
}

}  // namespace weir::dynamo
