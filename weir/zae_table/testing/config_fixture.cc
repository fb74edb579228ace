#include "weir/zae_table/testing/config_fixture.h"
#include "weir/zae_table/version.h"

#include <gtest/gtest.h>

#include "weir/aws/failure.h"
#include "weir/sim/dynamodb/dynamo_table.h"
#include "weir/zae_table/testing/zae_sim_table.h"
#include "weir/zae_table/zae_layout.h"

namespace weir::dynamo {
namespace {

// Returns the items of all pages of a listing.
template <class T, class List>
std::vector<T> ListAll(std::size_t limit, List list) {
  std::vector<T> all;
  PageRequest request{.cursor = {}, .limit = limit};
  for (int pages = 0; pages < 1000; ++pages) {
    Result<Page<T>> page = list(request);
    if (!page) {
      ADD_FAILURE() << page.error().message;
      return all;
    }
    EXPECT_LE(page->items.size(), limit);
    std::ranges::move(page->items, std::back_inserter(all));
    request.cursor = page->next;
    if (request.cursor.empty()) return all;
  }
  ADD_FAILURE() << "a listing without an end";
  return all;
}

}  // namespace

void SimClient::Call(JsonCall call, Deadline, JsonDone done) {
  if (before && !inside_) {
    inside_ = true;
    before(call);
    inside_ = false;
  }
  ++counts_[call.operation];
  if (failing_ && failing_->operation == call.operation && --failing_->left <= 0) {
    return done(tl::unexpected(AwsFailure{.kind = failing_->kind, .message = "scripted failure"}));
  }
  const HttpRequest request = RequestOf(call);
  if (loses_responses && call.repeatable) static_cast<void>(server_.Handle(request));
  HttpResponse response = server_.Handle(request);
  // A batch of which no part was processed is a throttled call, which every client retries.
  while (Classify(response.status, ErrorCode(response)) == FailureClass::kThrottle) {
    response = server_.Handle(request);
  }
  done(ReplyTo(call.operation, std::move(response)));
}

void SimClient::FailFrom(std::string operation, int nth, FailureClass kind) {
  failing_ = Failing{.operation = std::move(operation), .left = nth, .kind = kind};
}

int SimClient::Count(std::string_view operation) const {
  const auto found = counts_.find(operation);
  return found == counts_.end() ? 0 : found->second;
}

ConfigRig::ConfigRig() {
  CreateTableIn(server, table.name(), ZaeLayout());
  SimClient owner(server);  // its request is not counted
  Table opened(owner, scheduler, "limits", 1, ZaeLayout());
  Item record = NewVersionRecord({0}, "");
  record.insert_or_assign("client_min_version", Of(kCompatibility));
  const Write write{.kind = Write::Kind::kPut, .item = std::move(record)};
  opened.Apply(write, true, kNever, [](const auto& put) { EXPECT_TRUE(put); });
}

Result<std::vector<std::optional<LevelLimits>>> ConfigRig::GetLimits(std::vector<Level> levels) {
  using Limits = std::vector<std::optional<LevelLimits>>;
  return Await<Limits>(
      [&](Done<Limits> done) { store.GetLimits(levels, kNever, std::move(done)); });
}

Result<std::optional<LevelLimits>> ConfigRig::GetLimits(const Level& level) {
  return GetLimits(std::vector{level}).map([](auto found) { return std::move(found.front()); });
}

Result<std::vector<std::optional<EntityRecord>>> ConfigRig::GetEntities(
    std::vector<std::string> ids) {
  using Entities = std::vector<std::optional<EntityRecord>>;
  return Await<Entities>(
      [&](Done<Entities> done) { store.GetEntities(ids, kNever, std::move(done)); });
}

Status ConfigRig::Apply(std::vector<ConfigChange> changes) {
  return Await<void>(
      [&](Done<void> done) { store.Apply(std::move(changes), kNever, std::move(done)); });
}

std::vector<LevelRecord> ConfigRig::ListLimits(const LevelFilter& filter, std::size_t limit) {
  return ListAll<LevelRecord>(limit, [&](const PageRequest& page) {
    return Await<Page<LevelRecord>>(
        [&](auto done) { store.ListLimits(filter, page, kNever, std::move(done)); });
  });
}

std::vector<std::string> ConfigRig::ListIds(std::optional<std::string> parent, std::size_t limit) {
  const auto all = ListAll<EntityRecord>(limit, [&](const PageRequest& page) {
    return Await<Page<EntityRecord>>(
        [&](auto done) { store.ListEntities(parent, page, kNever, std::move(done)); });
  });
  std::vector<std::string> ids;
  for (const EntityRecord& record : all) ids.push_back(record.entity.id);
  return ids;
}

Item ConfigRig::At(const TableKey& key) {
  auto item =
      Await<std::optional<Item>>([&](auto done) { table.Get(key, kNever, std::move(done)); });
  if (!item || !*item) {
    ADD_FAILURE() << "no item " << key.pk << " " << key.sk;
    return {};
  }
  return **std::move(item);
}

bool ConfigRig::Has(const TableKey& key) {
  const auto item =
      Await<std::optional<Item>>([&](auto done) { table.Get(key, kNever, std::move(done)); });
  return item && item->has_value();
}

void ConfigRig::Put(const TableKey& key, Item attributes) {
  attributes.merge(ToItem(key));
  const Write write{.kind = Write::Kind::kPut, .item = std::move(attributes)};
  table.Apply(write, true, kNever,
              [](const auto& result) { EXPECT_TRUE(result) << result.error().error.message; });
}

void ConfigRig::Change(const TableKey& key, Expression change) {
  const Write write{.key = key, .item = {}, .expression = std::move(change)};
  table.Apply(write, true, kNever,
              [](const auto& result) { EXPECT_TRUE(result) << result.error().error.message; });
}

std::size_t ConfigRig::CountItems() const {
  std::size_t count = 0;
  for (const auto& [key, stored] : server.Table("limits")->items()) {
    const bool is_other = stored.now && (stored.now->contains("event_id") ||
                                         stored.now->contains("client_min_version"));
    if (stored.now && !is_other) ++count;
  }
  return count;
}

}  // namespace weir::dynamo
