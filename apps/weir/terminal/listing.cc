#include "apps/weir/terminal/listing.h"

#include <algorithm>

#include "weir/runtime/await.h"

namespace weir::app {
namespace {

Status Note(const std::vector<std::string>& unreadable, LeftOut left_out) {
  if (unreadable.empty()) return {};
  if (left_out == nullptr) return Fail(Code::kFailedPrecondition, unreadable.front());
  for (const std::string& line : unreadable) {
    if (std::ranges::find(*left_out, line) == left_out->end()) left_out->push_back(line);
  }
  return {};
}

template <class T, class Read>
Result<std::vector<T>> AllPages(LeftOut left_out, Read read) {
  std::vector<T> items;
  PageRequest request;
  do {
    WEIR_ASSIGN_OR_RETURN(
        Page<T> page, Await<Page<T>>([&](Done<Page<T>> done) { read(request, std::move(done)); }));
    WEIR_RETURN_IF_ERROR(Note(page.unreadable, left_out));
    std::move(page.items.begin(), page.items.end(), std::back_inserter(items));
    request.cursor = std::move(page.next);
  } while (!request.cursor.empty());
  return items;
}

}  // namespace

Result<std::vector<LevelRecord>> ListLevels(ConfigStore& store, const LevelFilter& filter,
                                            const NextDeadline& deadline, LeftOut left_out) {
  return AllPages<LevelRecord>(left_out,
                               [&](const PageRequest& page, Done<Page<LevelRecord>> done) {
                                 store.ListLimits(filter, page, deadline(), std::move(done));
                               });
}

Result<std::vector<EntityRecord>> ListEntities(ConfigStore& store,
                                               const std::optional<std::string>& parent,
                                               const NextDeadline& deadline, LeftOut left_out) {
  return AllPages<EntityRecord>(left_out,
                                [&](const PageRequest& page, Done<Page<EntityRecord>> done) {
                                  store.ListEntities(parent, page, deadline(), std::move(done));
                                });
}

Result<std::vector<BucketRecord>> ListBuckets(BucketStore& store, const BucketFilter& filter,
                                              const NextDeadline& deadline, LeftOut left_out) {
  WEIR_ASSIGN_OR_RETURN(
      std::vector<BucketRecord> records,
      AllPages<BucketRecord>(left_out, [&](const PageRequest& page, Done<Page<BucketRecord>> done) {
        store.List(filter, page, deadline(), std::move(done));
      }));
  std::sort(records.begin(), records.end(),
            [](const BucketRecord& a, const BucketRecord& b) { return a.key < b.key; });
  return records;
}

Result<Declared> ReadDeclared(ConfigStore& store, const NextDeadline& deadline, LeftOut left_out) {
  Declared declared;
  WEIR_ASSIGN_OR_RETURN(const auto levels, ListLevels(store, {}, deadline, left_out));
  WEIR_ASSIGN_OR_RETURN(const auto entities, ListEntities(store, std::nullopt, deadline, left_out));
  for (const LevelRecord& record : levels) declared.levels[record.level] = record.limits;
  for (const EntityRecord& record : entities) declared.entities[record.entity.id] = record;
  return declared;
}

Result<std::optional<LevelLimits>> GetLevel(ConfigStore& store, const Level& level,
                                            Deadline deadline) {
  using WriteResult = std::vector<std::optional<LevelLimits>>;
  WEIR_ASSIGN_OR_RETURN(WriteResult result, Await<WriteResult>([&](Done<WriteResult> done) {
                          store.GetLimits({&level, 1}, deadline, std::move(done));
                        }));
  return std::move(result.front());
}

Result<std::optional<EntityRecord>> GetEntity(ConfigStore& store, const std::string& id,
                                              Deadline deadline) {
  using WriteResult = std::vector<std::optional<EntityRecord>>;
  WEIR_ASSIGN_OR_RETURN(WriteResult result, Await<WriteResult>([&](Done<WriteResult> done) {
                          store.GetEntities({&id, 1}, deadline, std::move(done));
                        }));
  return std::move(result.front());
}

Status ApplyChanges(ConfigStore& store, std::vector<ConfigChange> changes, Deadline deadline) {
  constexpr std::string_view kOnly = "change 1 of 1, ";
  Status made = Await<void>(
      [&](Done<void> done) { store.Apply(std::move(changes), deadline, std::move(done)); });
  if (made || !made.error().message.starts_with(kOnly)) return made;
  // A command with one change does not number its changes.
  return Fail(made.error().code, made.error().message.substr(kOnly.size()));
}

}  // namespace weir::app
