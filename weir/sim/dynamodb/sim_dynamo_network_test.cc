// Clients that retry, on a DynamoDB behind a bad network: the effect of repeated writes.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weir/sim/dynamodb/dynamo_fixture.h"
#include "weir/sim/dynamodb/dynamo_table.h"
#include "weir/sim/dynamodb/sim_dynamo.h"
#include "weir/sim/sim_network.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr int kClients = 3;
constexpr int kWritesEach = 20;

json AddOne() {
  return json::parse(R"({"TableName":"t","Key":{"PK":{"S":"a"},"SK":{"S":"1"}},
      "UpdateExpression":"ADD n :1","ExpressionAttributeValues":{":1":{"N":"1"}}})");
}

/// Returns AddOne in a transaction that counts once, even if it is sent several times.
json AddOneOnce(const std::string& token) {
  json request = {{"ClientRequestToken", token}};
  request["TransactItems"][0]["Update"] = AddOne();
  return request;
}

/// Makes its writes one after the other and retries each until a response reports success.
class Client {
 public:
  Client(SimScheduler& scheduler, SimServer& server, std::uint64_t seed)
      : scheduler_(scheduler), name_(std::to_string(seed)), transport_(scheduler, server, seed) {
    transport_.faults = {.refuse = 0.05,
                         .lose_request = 0.05,
                         .lose_response = 0.1,
                         .duplicate = 0.1,
                         .fail_before = 0.05,
                         .fail_after = 0.1,
                         .throttle = 0.05,
                         .shortest_trip = milliseconds(1),
                         .longest_trip = milliseconds(9)};
  }

  /// Starts with transactions with tokens if `once`, otherwise with plain updates.
  void Start(bool once) {
    once_ = once;
    Send();
  }
  int done() const { return done_; }
  int doubts() const { return doubts_; }
  const NetworkCounts& counts() const { return transport_.counts(); }

 private:
  void Send() {
    if (done_ == kWritesEach) return;
    const std::string token = name_ + "-" + std::to_string(done_);
    HttpRequest request = once_ ? DynamoRequest("TransactWriteItems", AddOneOnce(token))
                                : DynamoRequest("UpdateItem", AddOne());
    const Deadline deadline = Deadline::After(scheduler_.clock(), milliseconds(15));
    transport_.Send(std::move(request), {.deadline = deadline}, [this](const auto& response) {
      if (response && response->status == 200) ++done_;
      if (response ? response->status == 500 : response.error().maybe_sent) ++doubts_;
      Send();
    });
  }

  SimScheduler& scheduler_;
  std::string name_;
  SimTransport transport_;
  bool once_ = false;
  int done_ = 0;
  int doubts_ = 0;
};

/// The writes of a fleet of clients and the resulting count in the table.
struct Fleet {
  std::int64_t counted = 0;
  int doubts = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t lost_responses = 0;
};

Fleet RunFleet(std::uint64_t seed, bool once) {
  SimScheduler scheduler(seed);
  SimDynamo dynamo(scheduler.clock(), seed);
  dynamo.Handle(DynamoRequest("CreateTable", LimitsTable()));
  dynamo.faults = {.throttle = 0.05, .conflict = 0.05, .in_progress = 0.1};
  std::vector<std::unique_ptr<Client>> clients;
  for (std::uint64_t i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<Client>(scheduler, dynamo, seed + i));
  }
  for (const auto& client : clients) client->Start(once);
  EXPECT_TRUE(scheduler.RunAll());
  Fleet fleet;
  for (const auto& client : clients) {
    EXPECT_EQ(client->done(), kWritesEach);
    fleet.doubts += client->doubts();
    fleet.duplicates += client->counts().duplicates;
    fleet.lost_responses += client->counts().lost_responses;
  }
  const Item& item = *dynamo.Table("t")->items().begin()->second.now;
  fleet.counted = item.at("n").As<Decimal>()->ToInt64().value();
  return fleet;
}

TEST(SimDynamoNetwork, TokensCountOnceThroughEveryFault) {
  std::uint64_t duplicates = 0;
  std::uint64_t lost_responses = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Fleet fleet = RunFleet(seed, true);
    EXPECT_EQ(fleet.counted, kClients * kWritesEach) << "seed " << seed;
    duplicates += fleet.duplicates;
    lost_responses += fleet.lost_responses;
  }
  EXPECT_GT(duplicates, 0U);
  EXPECT_GT(lost_responses, 0U);
}

TEST(SimDynamoNetwork, PlainUpdatesCountTooOftenWhereAnswersAreInDoubt) {
  std::int64_t too_many = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Fleet fleet = RunFleet(seed, false);
    const std::int64_t wanted = kClients * kWritesEach;
    EXPECT_GE(fleet.counted, wanted) << "seed " << seed;
    EXPECT_LE(fleet.counted - wanted, fleet.doubts + static_cast<std::int64_t>(fleet.duplicates))
        << "seed " << seed;
    too_many += fleet.counted - wanted;
  }
  EXPECT_GT(too_many, 0) << "or the faults do not show";
}

}  // namespace
}  // namespace weir::sim
