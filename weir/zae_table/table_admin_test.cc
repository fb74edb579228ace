#include "weir/zae_table/table_admin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/sim/dynamodb/dynamo_table.h"
#include "weir/zae_table/migration/table_survey.h"
#include "weir/zae_table/table_features.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TableAdminTest : public testing::Test {
 protected:
  Result<TableCreated> Create(Deadline deadline = Deadline::Never()) {
    return sim_.Ask<TableCreated>(
        [&](auto done) { admin_.Create("test", deadline, std::move(done)); });
  }
  Result<TableStatus> ReadStatus() {
    return sim_.Ask<TableStatus>(
        [&](auto done) { admin_.ReadStatus(Deadline::Never(), std::move(done)); });
  }
  Result<std::vector<std::string>> Check() {
    return sim_.Ask<std::vector<std::string>>(
        [&](auto done) { admin_.Check(Deadline::Never(), std::move(done)); });
  }
  SurveyLines Survey(std::uint64_t max_items = 1000) {
    const auto survey = sim_.Ask<TableSurvey>(
        [&](auto done) { admin_.Survey(max_items, Deadline::Never(), std::move(done)); });
    return LinesOf(survey.value());
  }
  Status Delete() {
    return sim_.Ask<void>([&](auto done) { admin_.Delete(Deadline::Never(), std::move(done)); });
  }
  const sim::DynamoTable& table() { return *sim_.server.Table("limits"); }
  // Creates the table as another process would.
  void Make(const TableLayout& layout) {
    sim_.table.Call("CreateTable", CreateTableBody("limits", layout), Deadline::Never(),
                    [](const auto& made) { ASSERT_TRUE(made) << made.error().message; });
  }

  ZaeSimTable sim_{true};
  TableAdmin admin_{sim_.table, sim_.scheduler};
};

TEST_F(TableAdminTest, CreatesAWholeTable) {
  const auto created = Create();
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_TRUE(created->created);
  EXPECT_TRUE(created->wrote_version);
  EXPECT_EQ(created->time_to_live, Feature::kOn);
  EXPECT_EQ(created->recovery, Feature::kOn);
  EXPECT_EQ(table().ttl_attribute, "ttl");
  EXPECT_TRUE(table().backups);
  EXPECT_THAT(sim_.AllKeys(), ElementsAre(VersionRecord()));
  EXPECT_THAT(*Check(), IsEmpty());
}

TEST_F(TableAdminTest, WaitsUntilTheTableCanBeUsed) {
  sim_.server.faults.table_creation = std::chrono::seconds(9);
  const Instant start = sim_.scheduler.clock().Now();
  ASSERT_TRUE(Create());
  const nanoseconds waited = sim_.scheduler.clock().Now() - start;
  EXPECT_GE(waited, std::chrono::seconds(9));
  EXPECT_LE(waited, std::chrono::seconds(11));
  EXPECT_LE(sim_.server.counts().Requests("DescribeTable"), 12U);
}

TEST_F(TableAdminTest, GivesUpAtTheDeadlineAndGoesOnNextTime) {
  sim_.server.faults.table_creation = std::chrono::seconds(60);
  const auto late = Create(Deadline::After(sim_.scheduler.clock(), std::chrono::seconds(10)));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kDeadlineExceeded);
  const auto again = Create();
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->created);
  EXPECT_THAT(*Check(), IsEmpty());
}

// At whatever call a creation is interrupted, the next one completes the table.
TEST_F(TableAdminTest, ACallThatWasCutOffIsCompletedByTheNext) {
  for (const auto fault : {DirectClient::Fault::kUnsent, DirectClient::Fault::kLostResponse}) {
    bool succeeded = false;
    for (std::uint64_t nth = 1; !succeeded; ++nth) {
      ASSERT_LT(nth, 20U);
      ZaeSimTable sim(true);
      TableAdmin admin(sim.table, sim.scheduler);
      const auto create = [&] {
        return sim.Ask<TableCreated>(
            [&](auto done) { admin.Create("", Deadline::Never(), std::move(done)); });
      };
      sim.client.FailFrom(nth, fault);
      succeeded = create().has_value();
      sim.client.Heal();
      const auto again = create();
      ASSERT_TRUE(again) << nth << ": " << again.error().message;
      const auto lines = sim.Ask<std::vector<std::string>>(
          [&](auto done) { admin.Check(Deadline::Never(), std::move(done)); });
      EXPECT_THAT(*lines, IsEmpty()) << nth;
    }
  }
}

TEST_F(TableAdminTest, AnEngineWithoutRecoveryIsToldAndNotFatal) {
  sim_.client.before_each = [&](const JsonCall& call) {
    const bool unknown = call.operation.ends_with("ContinuousBackups");
    sim_.client.refusal = unknown ? "UnknownOperationException" : "";
  };
  const auto created = Create();
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_EQ(created->recovery, Feature::kNotOffered);
  EXPECT_EQ(created->time_to_live, Feature::kOn);
  EXPECT_THAT(*Check(), IsEmpty());
}

TEST_F(TableAdminTest, ATableThatIsTooYoungForRecoveryIsAskedAgain) {
  int asked = 0;
  sim_.client.before_each = [&](const JsonCall& call) {
    if (call.operation == "UpdateContinuousBackups") ++asked;
    sim_.client.refusal = call.operation == "UpdateContinuousBackups" && asked < 3
                              ? "ContinuousBackupsUnavailableException"
                              : "";
  };
  const auto created = Create();
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_EQ(created->recovery, Feature::kOn);
  EXPECT_EQ(asked, 3);
}

TEST_F(TableAdminTest, AVersionRecordThatIsThereStays) {
  Make(ZaeLayout());
  Item record = NewVersionRecord({0}, "python");
  record.insert_or_assign("client_min_version", Of("0.16.0"));
  sim_.Put(record);
  const auto created = Create();
  ASSERT_TRUE(created);
  EXPECT_FALSE(created->wrote_version);
  EXPECT_EQ(sim_.Get(VersionRecord()), record);
}

TEST_F(TableAdminTest, ATableOfAnotherLayoutIsLeftAlone) {
  TableLayout other = ZaeLayout();
  other.stream = "";
  Make(other);
  const auto created = Create();
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(created.error().message, HasSubstr("stream: none"));
  EXPECT_EQ(table().ttl_attribute, "");
  EXPECT_THAT(sim_.AllKeys(), IsEmpty());
}

TEST_F(TableAdminTest, TimeToLiveOfAnotherAttributeIsNotTurnedOver) {
  Make(ZaeLayout());
  sim_.table.Call(
      "UpdateTimeToLive",
      R"({"TableName":"limits","TimeToLiveSpecification":{"AttributeName":"expiry","Enabled":true}})",
      Deadline::Never(), [](const auto& done) { ASSERT_TRUE(done); });
  const auto created = Create();
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(*Check(), Contains("time to live: on for attribute expiry, should be ttl"));
}

TEST_F(TableAdminTest, CheckNamesEverythingThatIsMissing) {
  TableLayout other = ZaeLayout();
  other.local_indexes.erase("LSI5");
  other.key_types.erase("LSI5SK");
  Make(other);
  EXPECT_THAT(*Check(), ElementsAre("local index LSI5: missing",
                                    "time to live: off, should be on for attribute ttl",
                                    "recovery to a point in time: off, should be on",
                                    "version record: none, should be there"));
}

TEST_F(TableAdminTest, CheckTellsOfAVersionThatIsNotForUs) {
  ASSERT_TRUE(Create());
  Item record = *sim_.Get(VersionRecord());
  record.insert_or_assign("schema_version", Of("0.9.0"));
  record.insert_or_assign("client_min_version", Of("0.18.0"));
  sim_.Put(record);
  EXPECT_THAT(*Check(), ElementsAre("schema version: 0.9.0, should be 0.10.0",
                                    HasSubstr("clients of version 0.18.0 or later")));
}

TEST_F(TableAdminTest, StatusOfATableInTheMakingIsThat) {
  sim_.server.faults.table_creation = std::chrono::seconds(9);
  Make(ZaeLayout());
  const auto status = ReadStatus();
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->table.status, "CREATING");
  EXPECT_THAT(*Check(), Contains("status: CREATING, should be ACTIVE"));
}

TEST_F(TableAdminTest, StatusOfAWholeTableTellsItsVersion) {
  ASSERT_TRUE(Create());
  const auto status = ReadStatus();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->table.status, "ACTIVE");
  EXPECT_EQ(status->table.items, 1);
  EXPECT_EQ(status->time_to_live_attribute, "ttl");
  ASSERT_TRUE(status->version);
  EXPECT_EQ(status->version->updated_by, "test");
}

TEST_F(TableAdminTest, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(ReadStatus().error().code, Code::kNotFound);
  EXPECT_EQ(Check().error().code, Code::kNotFound);
  EXPECT_EQ(Delete().error().code, Code::kNotFound);
  for (const Error& error : {ReadStatus().error(), Delete().error()}) {
    EXPECT_EQ(error.message, "there is no table limits: 'weir table create' creates it");
  }
}

TEST_F(TableAdminTest, DeletesTheTable) {
  ASSERT_TRUE(Create());
  ASSERT_TRUE(Delete());
  EXPECT_EQ(sim_.server.Table("limits"), nullptr);
}

TEST_F(TableAdminTest, ASurveyNamesWhatAnUpgradeWouldDo) {
  Create();
  EXPECT_THAT(Survey().differences, IsEmpty());
  EXPECT_THAT(Survey().upgrade, IsEmpty());
  Item record = *sim_.Get(VersionRecord());
  record.insert_or_assign("schema_version", Of("0.8.0"));
  sim_.Put(record);
  sim_.Put({{"PK", Of("ns/SYSTEM#")}, {"SK", Of("#LIMIT#rpm")}});
  sim_.Put({{"PK", Of("ns/ENTITY#acme")}, {"SK", Of("#BUCKET#gpt-4")}});
  const SurveyLines lines = Survey();
  EXPECT_THAT(lines.differences, ElementsAre("schema version: 0.8.0, should be 0.10.0",
                                             HasSubstr("1 limits in items from before 0.8")));
  EXPECT_THAT(lines.notes, ElementsAre(HasSubstr("1 buckets from before 0.9")));
  EXPECT_THAT(lines.upgrade, ElementsAre(HasSubstr("0.9.0: "), HasSubstr("0.10.0: ")));
  EXPECT_THAT(Survey(1).notes, Contains(HasSubstr("only 1 items were read")));
}

TEST_F(TableAdminTest, ASurveySaysThatLocalIndexesCannotBeAdded) {
  TableLayout layout = ZaeLayout();
  layout.local_indexes.erase("LSI1");
  layout.key_types.erase("LSI1SK");
  layout.stream = "";
  Make(layout);
  sim_.scheduler.RunReady();
  EXPECT_THAT(Survey().differences,
              Contains(AllOf(HasSubstr("local index LSI1: missing"),
                             HasSubstr("cannot be added to a table that exists"))));
  EXPECT_THAT(Survey().differences, Contains(HasSubstr("should be NEW_AND_OLD_IMAGES")));
}

}  // namespace
}  // namespace weir::dynamo
