// A configuration in a simulated table. All calls complete before they return. For tests only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/aws/json_client.h"
#include "weir/dynamodb/testing/sim_table.h"
#include "weir/runtime/await.h"
#include "weir/sim/dynamodb/sim_dynamo.h"
#include "weir/sim/immediate_scheduler.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/zae_table/config/config_store.h"
#include "weir/zae_table/zae_layout.h"

namespace weir::dynamo {

inline const Level kAcme = Level::Entity("acme", "gpt-4");

inline LevelLimits Rpm(std::int64_t tokens) { return {.limits = {{"rpm", PerMinute(tokens)}}}; }

inline EntityRecord Named(std::string id, std::optional<std::string> parent = std::nullopt) {
  return {.entity = {.id = std::move(id), .name = "name", .parent = std::move(parent)}};
}

/// Passes each call to the server, and completes it before it returns. Retries throttled calls.
class SimClient final : public JsonClient {
 public:
  explicit SimClient(sim::SimServer& server) : server_(server) {}
  void Call(JsonCall call, Deadline deadline, JsonDone done) override;

  /// Runs before each call reaches the server. It may make calls, before which it does not run.
  std::function<void(const JsonCall&)> before;
  /// Calls of this operation, from the nth on, fail with this class and do not reach the server.
  void FailFrom(std::string operation, int nth, FailureClass kind);
  void FailNoMore() { failing_.reset(); }
  int Count(std::string_view operation) const;
  /// The first response to each repeatable call is lost, and the same call is sent again.
  bool loses_responses = false;

 private:
  struct Failing {
    std::string operation;
    int left = 0;
    FailureClass kind = FailureClass::kTransient;
  };

  sim::SimServer& server_;
  bool inside_ = false;
  std::optional<Failing> failing_;
  std::map<std::string, int, std::less<>> counts_;
};

/// A table with a version record alone, and the store on it.
class ConfigRig {
 public:
  ConfigRig();

  Result<std::vector<std::optional<LevelLimits>>> GetLimits(std::vector<Level> levels);
  Result<std::optional<LevelLimits>> GetLimits(const Level& level);
  Result<std::vector<std::optional<EntityRecord>>> GetEntities(std::vector<std::string> ids);
  Status Apply(std::vector<ConfigChange> changes);
  /// Return all pages of a listing; `limit` is the number of items in a page.
  std::vector<LevelRecord> ListLimits(const LevelFilter& filter = {}, std::size_t limit = 1000);
  std::vector<std::string> ListIds(std::optional<std::string> parent = {},
                                   std::size_t limit = 1000);

  /// Returns the item as it is stored. Fails the test if there is none.
  Item At(const TableKey& key);
  bool Has(const TableKey& key);
  /// Write as another client does.
  void Put(const TableKey& key, Item attributes);
  void Change(const TableKey& key, Expression change);
  /// Returns the number of items, without audit events and the version record.
  std::size_t CountItems() const;

  sim::SimClock clock;
  sim::SimDynamo server{clock, 1};
  SimClient client{server};
  sim::ImmediateScheduler scheduler{clock};
  Table table{client, scheduler, "limits", 1, ZaeLayout()};
  Keys keys{"ns"};
  std::uint64_t drawn = 0;
  DynamoConfigStore store{
      table,
      keys,
      {.now = [this] { return clock.WallNow(); }, .random = [this] { return ++drawn; }}};
};

}  // namespace weir::dynamo
