// Creation of a table and changes of its namespaces through a network that loses, duplicates and
// delays messages.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "weir/aws/retrying_client.h"
#include "weir/sim/dynamodb/dynamo_table.h"
#include "weir/sim/dynamodb/sim_dynamo.h"
#include "weir/sim/sim_network.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/zae_table/keys.h"
#include "weir/zae_table/namespace/namespaces.h"
#include "weir/zae_table/table_admin.h"
#include "weir/zae_table/testing/sim_process_fixture.h"
#include "weir/zae_table/zae_layout.h"

namespace weir::dynamo {
namespace {

using testing::IsEmpty;

// One client, its network, and the server.
struct Networked {
  explicit Networked(std::uint64_t seed) : rng(seed) {}

  template <class T, class Start>
  Result<T> Ask(Start&& start) {
    std::optional<Result<T>> result;
    start(Deadline::After(scheduler.clock(), std::chrono::minutes(2)),
          Done<T>([&](Result<T> received) { result.emplace(std::move(received)); }));
    while (!result && scheduler.RunNext()) {
    }
    return result ? std::move(*result) : Fail(Code::kInternal, "no answer came");
  }
  Result<TableCreated> CreateTable() {
    return Ask<TableCreated>(
        [&](Deadline deadline, auto done) { admin.Create("", deadline, std::move(done)); });
  }

  Rng rng;
  sim::SimScheduler scheduler;
  sim::SimDynamo server{scheduler.clock(), rng.Next()};
  sim::SimTransport network{scheduler, server, rng.Next()};
  NoSigner signer;
  Anybody credentials;
  std::unique_ptr<JsonClient> client =
      MakeJsonClient({network, signer, credentials, scheduler},
                     {.target_prefix = "DynamoDB_20120810", .host = "dynamodb.test", .seed = 7});
  Table table{*client, scheduler, "limits", 8, ZaeLayout()};
  TableAdmin admin{table, scheduler};
  Namespaces spaces{table, scheduler.clock(), [this] { return rng.Next(); }};
};

std::string TextOrEmpty(const sim::Item& item, const std::string& name) {
  const auto found = item.find(name);
  return found == item.end() ? "" : *found->second.As<std::string>();
}

// Returns the contradictions between the stored records of namespaces.
std::vector<std::string> Contradictions(const sim::DynamoTable& table) {
  std::map<std::string, std::string> id_of;    // keyed by name
  std::map<std::string, sim::Item> record_of;  // keyed by id
  std::set<std::string> with_data;             // ids
  for (const auto& [key, stored] : table.items()) {
    if (!stored.now) continue;
    const std::string sort = TextOrEmpty(*stored.now, "SK");
    if (sort.starts_with("#NAMESPACE#")) {
      id_of[sort.substr(11)] = TextOrEmpty(*stored.now, "namespace_id");
    }
    if (sort.starts_with("#NSID#")) record_of[sort.substr(6)] = *stored.now;
    if (sort == "#META") with_data.insert(TextOrEmpty(*stored.now, "GSI4PK"));
  }
  std::vector<std::string> wrong;
  for (const auto& [id, record] : record_of) {
    const auto named = id_of.find(TextOrEmpty(record, "namespace_name"));
    const bool resolves = named != id_of.end() && named->second == id;
    if (resolves != (TextOrEmpty(record, "status") == "active")) {
      wrong.push_back(fmt::format("{} is {}", id, TextOrEmpty(record, "status")));
    }
  }
  for (const auto& [name, id] : id_of) {
    if (!record_of.contains(id)) wrong.push_back(name + " leads nowhere");
  }
  for (const std::string& id : with_data) {
    if (!record_of.contains(id)) wrong.push_back(id + " was purged and has data");
  }
  return wrong;
}

TEST(AdminNetwork, ALostAnswerToACreationOrDeletionIsNoFailure) {
  Networked t(1);
  t.network.Script("CreateTable", 1, sim::NetworkFault::kLoseResponse);
  t.network.Script("UpdateTimeToLive", 1, sim::NetworkFault::kFailBefore);
  t.network.Script("PutItem", 1, sim::NetworkFault::kLoseResponse);
  const auto created = t.CreateTable();
  ASSERT_TRUE(created) << created.error().message;
  t.network.Script("DeleteTable", 1, sim::NetworkFault::kLoseResponse);
  const Status deleted =
      t.Ask<void>([&](Deadline deadline, auto done) { t.admin.Delete(deadline, std::move(done)); });
  EXPECT_TRUE(deleted) << deleted.error().message;
  EXPECT_EQ(t.server.Table("limits"), nullptr);
  EXPECT_EQ(t.network.scripted(), 0U);
}

TEST(AdminNetwork, ALostAnswerToARegistrationIsNoSecondNamespace) {
  Networked t(2);
  ASSERT_TRUE(t.CreateTable());
  t.network.Script("TransactWriteItems", 1, sim::NetworkFault::kLoseResponse);
  const auto space = t.Ask<Namespace>([&](Deadline deadline, auto done) {
    t.spaces.Register("team-a", deadline, std::move(done));
  });
  ASSERT_TRUE(space) << space.error().message;
  EXPECT_EQ(t.server.Table("limits")->CountItems(), 3U);
  EXPECT_THAT(Contradictions(*t.server.Table("limits")), IsEmpty());
}

// Begins a random change of a random namespace, and does not wait for it. Each id has one item at
// first.
void BeginSomeChange(Networked& t, std::vector<std::string>& ids) {
  const Deadline deadline = Deadline::After(t.scheduler.clock(), std::chrono::seconds(20));
  const std::string name = t.rng.Chance(0.5) ? "team-a" : "team-b";
  const std::uint64_t change = t.rng.Below(4);
  if (change == 0 || ids.empty()) {
    return t.spaces.Register(name, deadline, [&t, &ids](Result<Namespace> space) {
      if (!space || std::ranges::count(ids, space->id) > 0) return;
      ids.push_back(space->id);
      Write put{.kind = Write::Kind::kPut, .key = {}, .item = {}, .expression = {}};
      put.item = ToItem(Keys(space->id).Entity("acme"));
      put.item.emplace("GSI4PK", Of(space->id));
      put.item.emplace("GSI4SK", Of(Keys(space->id).EntityPartition("acme")));
      // Written only while the namespace exists, as by a client that has just resolved it.
      Write check{.kind = Write::Kind::kCheck,
                  .key = NamespaceReverse(space->id),
                  .item = {},
                  .expression = {}};
      check.expression.RequireEqual("status", Of("active"));
      t.table.Transact({put, check}, fmt::format("{:032x}", ids.size()), Deadline::Never(),
                       [](const auto&) {});
    });
  }
  const std::string id = ids[t.rng.Below(ids.size())];
  if (change == 1) return t.spaces.Delete(name, deadline, [](const auto&) {});
  if (change == 2) return t.spaces.Recover(id, deadline, [](const auto&) {});
  t.spaces.Purge(id, deadline, [](const auto&) {});
}

// Fails if: a recovery that completes a change which looks incomplete does not require that the
// other record is as it was read. The two records are read one after the other.
RC_GTEST_PROP(AdminNetwork, ChangesOfManyNeverContradictEachOther, ()) {
  Networked t(*rc::gen::arbitrary<std::uint64_t>());
  RC_ASSERT(t.CreateTable().has_value());
  t.network.faults = {.lose_request = 0.05,
                      .lose_response = 0.1,
                      .duplicate = 0.05,
                      .fail_after = 0.05,
                      .throttle = 0.05,
                      .shortest_trip = milliseconds(1),
                      .longest_trip = milliseconds(200)};
  std::vector<std::string> ids;
  for (int i = 0; i < 40; ++i) {
    BeginSomeChange(t, ids);
    t.scheduler.Advance(milliseconds(t.rng.Between(0, 300)));
    const auto wrong = Contradictions(*t.server.Table("limits"));
    RC_ASSERT(wrong == std::vector<std::string>{});
  }
  RC_ASSERT(t.scheduler.RunAll());
  RC_ASSERT(Contradictions(*t.server.Table("limits")) == std::vector<std::string>{});
}

}  // namespace
}  // namespace weir::dynamo
