#include "apps/weir/commands/table_verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "apps/weir/testing/verb_run_fixture.h"
#include "weir/model/ulid.h"
#include "weir/zae_table/records/audit.h"
#include "weir/zae_table/records/usage.h"
#include "weir/zae_table/records/usage_gap.h"
#include "weir/zae_table/testing/zae_sim_table.h"
#include "weir/zae_table/version.h"

namespace weir::app {
namespace {

using dynamo::Keys;
using dynamo::ZaeSimTable;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

// The verbs on a simulated table that does not exist at first.
class TableVerbsTest : public testing::Test {
 protected:
  // Returns the output. An error is stored in error_, the exit code in exit_.
  std::string Run(std::vector<std::string> args) {
    const WithTable with_table = [this](Context&, const TableWork& work) {
      ++connections_;
      return work({sim_.client, sim_.table, sim_.scheduler, url_,
                   [this] { return random_ += 0x1234567890ABCD; }});
    };
    const auto add = [&](CLI::App& app, Action& chosen) {
      AddTable(app, chosen, with_table);
      AddNamespace(app, chosen, with_table);
      AddAudit(app, chosen, with_table);
      AddUsage(app, chosen, with_table);
    };
    const VerbEnd end =
        RunVerb(process_, std::move(args), add, {.store = "dynamodb://limits", .json = json_});
    exit_ = end.exit;
    error_ = end.error;
    return end.result;
  }
  json RunJson(std::vector<std::string> args) {
    json_ = true;
    const std::string result = Run(std::move(args));
    json_ = false;
    EXPECT_EQ(error_, "");
    return json::parse(result);
  }

  /// Changes an attribute of the version record.
  void StoreInVersion(const std::string& attribute, const std::string& text) {
    dynamo::Item record = *sim_.Get(dynamo::VersionRecord());
    record.insert_or_assign(attribute, dynamo::Of(text));
    sim_.Put(record);
  }
  void StoreSchema(const std::string& version) { StoreInVersion("schema_version", version); }

  ZaeSimTable sim_{true};
  dynamo::DynamoUrl url_{.table = "limits", .namespace_name = "team-a"};
  std::uint64_t random_ = 0;
  int connections_ = 0;
  bool json_ = false;
  Exit exit_ = Exit::kDone;
  std::string error_;
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  ProcessContext process_{
      .clock = sim_.scheduler.clock(),
      .scheduler = sim_.scheduler,
      .in = in_,
      .out = out_,
      .err = err_,
      .environment = [](const std::string&) { return std::nullopt; },
      .interrupted = [] { return false; },
      .find_caller =
          [](const std::string&) { return Result<std::optional<std::string>>(std::nullopt); }};
};

TEST_F(TableVerbsTest, CreatesATableThatPassesTheCheck) {
  EXPECT_THAT(Run({"table", "create"}), StartsWith("created table limits\n"));
  EXPECT_THAT(Run({"table", "create"}), StartsWith("completed table limits\n"));
  EXPECT_EQ(Run({"table", "check"}), "table limits is as it should be\n");
  EXPECT_EQ(exit_, Exit::kDone);
  EXPECT_THAT(Run({"table", "status"}), HasSubstr("status        ACTIVE\n"));
  const json status = RunJson({"table", "status"});
  EXPECT_EQ(status["version"]["schema"], "0.10.0");
  EXPECT_EQ(status["recovery"], "on");
}

TEST_F(TableVerbsTest, WhatTheTableIsCanBeReadByPrograms) {
  EXPECT_EQ(RunJson({"table", "create"}), (json{{"table", "limits"},
                                                {"created", true},
                                                {"time_to_live", "on"},
                                                {"recovery", "on"},
                                                {"wrote_version", true}}));
  const json check = RunJson({"table", "check"});
  EXPECT_EQ(check["differences"], json::array());
  EXPECT_EQ(check["schema"], "0.10.0");
  EXPECT_EQ(check["client_min"], "0.0.0");
  EXPECT_EQ(check["scanned"], 1);
  EXPECT_EQ(check["scanned_all"], true);
  EXPECT_EQ(RunJson({"table", "status"})["version"]["lambda"], nullptr);
  EXPECT_EQ(RunJson({"table", "delete", "--yes"}), (json{{"deleted", "limits"}}));
}

TEST_F(TableVerbsTest, AnEngineThatLacksRecoveryIsToldInTheAnswer) {
  sim_.client.before_each = [this](const JsonCall& call) {
    const bool unknown = call.operation.ends_with("ContinuousBackups");
    sim_.client.refusal = unknown ? "UnknownOperationException" : "";
  };
  EXPECT_EQ(Run({"table", "create"}),
            "created table limits\ntime to live  on\nrecovery      not offered\n");
  EXPECT_EQ(Run({"table", "check"}), "table limits is as it should be\n");
}

TEST_F(TableVerbsTest, StatusTellsWhoseTheTableIs) {
  Run({"table", "create"});
  EXPECT_EQ(Run({"table", "status"}),
            "table         limits\nstatus        ACTIVE\nitems         1\nbytes         0\n"
            "time to live  on\nrecovery      on\nschema        0.10.0\nmin client    0.0.0\n"
            "aggregator    -\n");
  ASSERT_TRUE(sim_.Ask<void>([&](auto done) {
    sim_.table.DeleteAll({dynamo::VersionRecord()}, Deadline::Never(), std::move(done));
  }));
  EXPECT_THAT(Run({"table", "status"}), HasSubstr("schema        no version record\n"));
}

TEST_F(TableVerbsTest, ACheckThatFindsSomethingFails) {
  Run({"table", "create"});
  StoreSchema("0.9.0");
  EXPECT_THAT(Run({"table", "check"}),
              AllOf(StartsWith("schema version: 0.9.0, should be 0.10.0\n"),
                    HasSubstr("0.10.0: indexes LSI1 to LSI5")));
  EXPECT_EQ(exit_, Exit::kPending);
}

TEST_F(TableVerbsTest, AnUpgradeMigratesAnOldTable) {
  Run({"table", "create"});
  StoreSchema("0.7.0");
  sim_.Put({{"PK", dynamo::Of("ns/RESOURCE#gpt-4")},
            {"SK", dynamo::Of("#LIMIT#rpm")},
            {"capacity", dynamo::Of(10)},
            {"burst", dynamo::Of(15)},
            {"refill_amount", dynamo::Of(10)},
            {"refill_period_seconds", dynamo::Of(60)}});
  EXPECT_THAT(Run({"table", "check"}), HasSubstr("1 limits in items from before 0.8"));
  const std::string migrated = "namespace ns, resource gpt-4: rpm:10:15 (legacy items: 1)\n";
  EXPECT_EQ(
      Run({"table", "upgrade", "--dry-run"}),
      migrated +
          "1 levels would be migrated, 0 levels had limits already, 1 items would be removed\n"
          "schema 0.7.0 of table limits would be replaced by 0.10.0\n");
  EXPECT_EQ(Run({"table", "upgrade"}),
            migrated +
                "1 levels migrated, 0 levels had limits already, 1 items removed\n"
                "schema 0.7.0 of table limits replaced by 0.10.0\n");
  EXPECT_EQ(exit_, Exit::kDone);
  EXPECT_EQ(Run({"table", "check"}), "table limits is as it should be\n");
  EXPECT_EQ(exit_, Exit::kDone);
  EXPECT_EQ(RunJson({"table", "upgrade"})["removed"], 0);
}

TEST_F(TableVerbsTest, LimitsThatCannotBeMigratedFailTheUpgrade) {
  Run({"table", "create"});
  sim_.Put({{"PK", dynamo::Of("ns/RESOURCE#gpt-4")}, {"SK", dynamo::Of("#LIMIT#rpm")}});
  EXPECT_THAT(Run({"table", "upgrade"}),
              HasSubstr("namespace ns, resource gpt-4: the legacy item"));
  EXPECT_EQ(exit_, Exit::kFailed);
  EXPECT_EQ(Run({"table", "check", "--items", "0"}),
            "table limits is as it should be in the 0 items read\nalso seen:\n  only 0 items were "
            "read, the table may have more\n");
}

// Fails if: the output of an upgrade that ends with an error does not name the levels that were
// migrated.
TEST_F(TableVerbsTest, AnUpgradeThatEndsEarlyReportsWhatIsDone) {
  Run({"table", "create"});
  StoreSchema("0.7.0");
  sim_.Put({{"PK", dynamo::Of("ns/RESOURCE#gpt-4")},
            {"SK", dynamo::Of("#LIMIT#rpm")},
            {"capacity", dynamo::Of(10)},
            {"refill_amount", dynamo::Of(10)},
            {"refill_period_seconds", dynamo::Of(60)}});
  sim_.client.before_each = [this](const JsonCall& call) {
    sim_.client.refusal = call.operation == "UpdateItem" ? "AccessDeniedException" : "";
  };
  EXPECT_EQ(Run({"table", "upgrade"}),
            "namespace ns, resource gpt-4: rpm:10 (legacy items: 1)\n"
            "1 levels migrated, 0 levels had limits already, 1 items removed\n"
            "table limits has schema 0.7.0\n");
  EXPECT_EQ(exit_, Exit::kFailed);
  EXPECT_THAT(error_, HasSubstr("the upgrade ended early"));
}

TEST_F(TableVerbsTest, AnAggregatorThatDoesNotRunIsRemoved) {
  Run({"table", "create"});
  StoreInVersion("lambda_version", "0.16.0");
  EXPECT_THAT(Run({"table", "upgrade", "--no-zae-aggregator", "--dry-run"}),
              HasSubstr("version 0.16.0 of the aggregator would be removed from table limits\n"));
  EXPECT_THAT(Run({"table", "status"}), HasSubstr("aggregator    0.16.0\n"));
  EXPECT_THAT(Run({"table", "upgrade", "--no-zae-aggregator"}),
              HasSubstr("version 0.16.0 of the aggregator removed from table limits\n"));
  EXPECT_THAT(Run({"table", "status"}), HasSubstr("aggregator    -\n"));
}

TEST_F(TableVerbsTest, NothingElseCreatesATable) {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"table", "status"},
                                             {"table", "check"},
                                             {"table", "upgrade"},
                                             {"namespace", "register", "team-a"},
                                             {"namespace", "list"},
                                             {"namespace", "orphans"},
                                             {"audit", "list", "-e", "acme"},
                                             {"usage", "list", "-e", "acme"}}) {
    Run(args);
    EXPECT_EQ(exit_, Exit::kFailed) << args[1];
    EXPECT_NE(error_, "");
    EXPECT_EQ(sim_.server.Table("limits"), nullptr);
  }
}

TEST_F(TableVerbsTest, DeletingATableMustBeMeant) {
  Run({"table", "create"});
  connections_ = 0;
  Run({"table", "delete"});
  EXPECT_EQ(exit_, Exit::kUsage);
  EXPECT_THAT(error_, HasSubstr("deletes table limits"));
  EXPECT_THAT(error_, HasSubstr("--yes"));
  EXPECT_EQ(connections_, 0);
  EXPECT_EQ(Run({"table", "delete", "--yes"}), "deleted table limits\n");
  EXPECT_EQ(sim_.server.Table("limits"), nullptr);
}

TEST_F(TableVerbsTest, ATableForNewerClientsIsLeftAlone) {
  Run({"table", "create"});
  StoreInVersion("client_min_version", "0.18.0");
  Run({"namespace", "register", "team-a"});
  EXPECT_EQ(exit_, Exit::kFailed);
  EXPECT_THAT(error_, HasSubstr("0.18.0"));
  EXPECT_THAT(sim_.AllKeys(), SizeIs(1));
}

TEST_F(TableVerbsTest, ANamespaceGoesFromRegisteredToPurged) {
  Run({"table", "create"});
  const json registered = RunJson({"namespace", "register", "team-a", "team-b"});
  ASSERT_THAT(registered["namespaces"], SizeIs(2));
  const std::string id = registered["namespaces"][0]["id"];
  EXPECT_THAT(Run({"namespace", "register", "team-a"}), HasSubstr("team-a: " + id));
  EXPECT_THAT(Run({"namespace", "show", "team-a"}), HasSubstr(id));
  EXPECT_THAT(RunJson({"namespace", "list"})["namespaces"], SizeIs(2));

  EXPECT_THAT(Run({"namespace", "delete", "team-a"}), HasSubstr(id));
  EXPECT_EQ(RunJson({"namespace", "orphans"})["namespaces"][0]["id"], id);
  EXPECT_THAT(Run({"namespace", "list"}), testing::Not(HasSubstr("team-a")));
  EXPECT_EQ(Run({"namespace", "recover", id}), "recovered namespace team-a\n");
  EXPECT_EQ(Run({"namespace", "orphans"}), "no orphans\n");

  Run({"namespace", "delete", "team-a"});
  Run({"namespace", "purge", id});
  EXPECT_EQ(exit_, Exit::kUsage);
  EXPECT_EQ(Run({"namespace", "purge", id, "--yes"}), "purged " + id + ": 0 items\n");
  Run({"namespace", "recover", id});
  EXPECT_EQ(exit_, Exit::kFailed);
  EXPECT_THAT(error_, HasSubstr(id));
}

TEST_F(TableVerbsTest, NamespacesCanBeReadByPrograms) {
  Run({"table", "create"});
  const json space = RunJson({"namespace", "register", "team-a"})["namespaces"][0];
  const std::string id = space["id"];
  EXPECT_EQ(space["namespace"], "team-a");
  EXPECT_EQ(space["status"], "active");
  EXPECT_FALSE(space.contains("deleted_at"));
  EXPECT_EQ(RunJson({"namespace", "show", "team-a"})["id"], id);
  const json deleted = RunJson({"namespace", "delete", "team-a"});
  EXPECT_EQ(deleted["status"], "deleted");
  EXPECT_EQ(deleted["deleted_at"], "2026-01-01T00:00:00.013Z");
  EXPECT_EQ(RunJson({"namespace", "purge", id, "--yes"}), (json{{"purged", id}, {"items", 0}}));
  EXPECT_EQ(RunJson({"namespace", "orphans"}), (json{{"namespaces", json::array()}}));
}

TEST_F(TableVerbsTest, OneBadNameRegistersNone) {
  Run({"table", "create"});
  Run({"namespace", "register", "team-a", "_"});
  EXPECT_EQ(exit_, Exit::kUsage);
  EXPECT_EQ(Run({"namespace", "list"}), "no namespaces\n");
}

TEST_F(TableVerbsTest, ANamespaceByItsIdNeedsNoRecord) {
  Run({"table", "create"});
  url_.namespace_name = "id:default";
  EXPECT_EQ(Run({"audit", "list", "-e", "acme"}), "no events\n");
  EXPECT_THAT(sim_.AllKeys(), SizeIs(1));
}

TEST_F(TableVerbsTest, WhatIsNotRegisteredIsToldAsSuch) {
  Run({"table", "create"});
  for (const char* verb : {"show", "delete"}) {
    Run({"namespace", verb, "team-z"});
    EXPECT_EQ(exit_, Exit::kFailed);
    EXPECT_THAT(error_, HasSubstr("team-z"));
  }
  EXPECT_EQ(Run({"namespace", "list"}), "no namespaces\n");
}

TEST_F(TableVerbsTest, BadNamesAndIdsAreUsageErrors) {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"namespace", "register", "_"},
                                             {"namespace", "register"},
                                             {"namespace", "purge", "_", "--yes"},
                                             {"namespace", "show", "a b"},
                                             {"audit", "list"},
                                             {"audit", "list", "-e", "a", "--system"},
                                             {"audit", "list", "-e", "a", "-l", "0"},
                                             {"usage", "list"},
                                             {"usage", "list", "-e", "a", "-w", "weekly"},
                                             {"usage", "list", "-e", "a", "--start", "noon"},
                                             {"usage", "summary", "-e", "a b"}}) {
    Run(args);
    EXPECT_EQ(exit_, Exit::kUsage) << args.back();
    EXPECT_EQ(connections_, 0);
  }
}

TEST_F(TableVerbsTest, TheAuditTrailIsListedPageByPage) {
  Run({"table", "create"});
  const std::string id = RunJson({"namespace", "register", "team-a"})["namespaces"][0]["id"];
  UlidMaker maker;
  for (int i = 0; i < 3; ++i) {
    const UnixMillis at{1'767'225'600'000 + 1000 * i};
    sim_.Put(AuditItem(Keys(id),
                       {.id = maker.Next(at, {}),
                        .subject = "acme",
                        .at = at,
                        .action = "limits_set",
                        .principal = "me",
                        .resource = "api",
                        .details = {{"limits", {AuditDetail::List{{"rpm"}}}}}},
                       90));
  }
  const std::string text = Run({"audit", "list", "--entity", "acme", "--limit", "2"});
  EXPECT_THAT(text, HasSubstr("2026-01-01T00:00:02.000Z  limits_set  me  api"));
  EXPECT_THAT(text, HasSubstr(R"({"limits":["rpm"]})"));
  const json first = RunJson({"audit", "list", "--entity-id", "acme", "-l", "2"});
  EXPECT_THAT(first["events"], SizeIs(2));
  EXPECT_THAT(text, HasSubstr("--after " + first["next"].get<std::string>()));
  const json second = RunJson({"audit", "list", "-e", "acme", "--start-event-id", first["next"]});
  EXPECT_THAT(second["events"], SizeIs(1));
  EXPECT_FALSE(second.contains("next"));
  EXPECT_EQ(Run({"audit", "list", "--system"}), "no events\n");
  EXPECT_EQ(Run({"audit", "list", "-r", "api"}), "no events\n");
}

// Fails if: the verbs use the id default, or the name instead of its id.
TEST_F(TableVerbsTest, UsageIsThatOfTheNamespace) {
  Run({"table", "create"});
  const std::string id = RunJson({"namespace", "register", "team-a"})["namespaces"][0]["id"];
  dynamo::UsageTable usage(sim_.table, Keys(id));
  ASSERT_TRUE(sim_.Ask<void>([&](auto done) {
    usage.Add({.entity = "acme",
               .resource = "api",
               .window = UsageWindow::kHourly,
               .start = {1'767'229'200'000},
               .used = {{"rpm", 1500}},
               .overdrawn = {},
               .events = 3},
              Deadline::Never(), std::move(done));
  }));
  EXPECT_THAT(Run({"usage", "list", "-e", "acme"}), HasSubstr("2026-01-01T01:00:00.000Z  hourly"));
  EXPECT_EQ(RunJson({"usage", "summary", "-r", "api"})["limits"][0]["used"], 1500);
  // Fails if: a gap of the stream is not shown with the usage that may be incomplete.
  sim_.Put(dynamo::GapWrite({"shard-1", "17", {1'767'225'600'000}, {1'767'229'200'000}}).item);
  const json summary = RunJson({"usage", "summary", "-r", "api"});
  ASSERT_EQ(summary["left_out"].size(), 1U);
  EXPECT_EQ(summary["left_out"][0],
            "usage from 2026-01-01T00:00:00.000Z until 2026-01-01T01:00:00.000Z may be incomplete: "
            "changes were not counted");
  EXPECT_FALSE(RunJson({"usage", "summary", "-r", "api", "--start", "2026-01-02T00:00:00Z"})
                   .contains("left_out"));
}

// Fails if: a sum that is too high looks like one that is exact.
TEST_F(TableVerbsTest, SumsWithMixedSnapshotsSayThatTheyAreTooHigh) {
  Run({"table", "create"});
  const std::string id = RunJson({"namespace", "register", "team-a"})["namespaces"][0]["id"];
  const std::string midnight =
      "2026-01-02T00:00:00Z";  // zae-limiter's aggregator writes such items
  sim_.Put({{"PK", dynamo::Of(id + "/ENTITY#acme")},
            {"SK", dynamo::Of("#USAGE#api#" + midnight)},
            {"GSI2PK", dynamo::Of(id + "/RESOURCE#api")},
            {"GSI2SK", dynamo::Of("USAGE#" + midnight + "#acme")},
            {"entity_id", dynamo::Of("acme")},
            {"resource", dynamo::Of("api")},
            {"window", dynamo::Of("hourly")},
            {"window_start", dynamo::Of(midnight)},
            {"total_events", dynamo::Of(2)},
            {"ttl", dynamo::Of(4'000'000'000)},
            {"rpm", dynamo::Of(25)}});
  const json page = RunJson({"usage", "list", "-e", "acme"});
  ASSERT_EQ(page["usage"].size(), 1U);
  EXPECT_TRUE(page["usage"][0].value("mixed", false));
  EXPECT_THAT(Run({"usage", "list", "-e", "acme"}), HasSubstr("hourly, mixed"));
  for (const char* window : {"hourly", "daily"}) {
    const json summary = RunJson({"usage", "summary", "-e", "acme", "-w", window});
    EXPECT_EQ(summary["limits"][0]["used"], 25) << window;
    ASSERT_EQ(summary["left_out"].size(), 1U);
    EXPECT_THAT(summary["left_out"][0].get<std::string>(), HasSubstr("too high"));
  }
}

TEST_F(TableVerbsTest, TheTrailOfANamespaceThatIsNotThereIsNot) {
  Run({"table", "create"});
  Run({"audit", "list", "-e", "acme"});
  EXPECT_EQ(exit_, Exit::kFailed);
  EXPECT_THAT(error_, HasSubstr("weir namespace register team-a"));
}

}  // namespace
}  // namespace weir::app
