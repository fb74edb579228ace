#include "weir/embedded/file/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <thread>

#include "weir/embedded/testing/embedded_fixture.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class SchemaTest : public testing::Test {
 protected:
  Status Prepare(std::span<const Migration> migrations) {
    auto connection = sqlite::Connection::Open(path_, "");
    if (!connection) return Fail(connection.error());
    return PrepareSchema(*connection, migrations);
  }
  std::string Version() { return RunSql(path_, "PRAGMA user_version").at(0); }

  TempFolder folder_;
  std::string path_ = folder_ / "weir.db";
};

// Migrations that a later version might make.
constexpr std::array kLater = {
    Migration{1, "CREATE TABLE bucket(entity TEXT); INSERT INTO bucket VALUES('acme')"},
    Migration{2, "ALTER TABLE bucket ADD COLUMN region TEXT NOT NULL DEFAULT 'eu'"},
    Migration{3, "UPDATE bucket SET region = region || '-west'"},
};
constexpr std::array kBroken = {kLater[0], kLater[1], Migration{3, "UPDATE nowhere SET x = 1"}};

TEST_F(SchemaTest, MarksANewFile) {
  ASSERT_TRUE(Prepare(Migrations()));
  EXPECT_EQ(Version(), std::to_string(Migrations().back().version));
  EXPECT_THAT(RunSql(path_, "PRAGMA application_id"), ElementsAre(std::to_string(kApplicationId)));
}

TEST_F(SchemaTest, MigrationsCountFromOneWithoutAGap) {
  std::int64_t version = 0;
  for (const Migration& migration : Migrations()) EXPECT_EQ(migration.version, ++version);
}

TEST_F(SchemaTest, BringsAnOlderFileUpToDateAndKeepsItsRows) {
  ASSERT_TRUE(Prepare(std::span(kLater).first(1)));
  ASSERT_TRUE(Prepare(kLater));
  EXPECT_EQ(Version(), "3");
  EXPECT_THAT(RunSql(path_, "SELECT * FROM bucket"), ElementsAre("acme|eu-west"));
  ASSERT_TRUE(Prepare(kLater)) << "and once more does nothing";
  EXPECT_THAT(RunSql(path_, "SELECT * FROM bucket"), ElementsAre("acme|eu-west"));
}

// Fails if: a table that a later weir needs is added to a migration that existing files have had.
TEST_F(SchemaTest, AFileOfTheFirstVersionGetsWhatCameLater) {
  ASSERT_TRUE(Prepare(Migrations().first(1)));
  RunSql(path_, "INSERT INTO level VALUES('system', '', '', '{}', 'allow', 0)");
  ASSERT_TRUE(Prepare(Migrations()));
  EXPECT_THAT(RunSql(path_, "SELECT kind FROM level"), ElementsAre("system"));
  for (const char* table : {"audit", "usage"}) {
    EXPECT_THAT(RunSql(path_, std::string("SELECT count(*) FROM ") + table), ElementsAre("0"));
  }
}

// Fails if: the buckets of an older file are lost, or missing in its views.
TEST_F(SchemaTest, C2BucketsOfEveryOlderVersionAreReadAndShownWithExtraOnes) {
  for (std::size_t version = 1; version < Migrations().size(); ++version) {
    path_ = folder_ / ("from-" + std::to_string(version));
    ASSERT_TRUE(Prepare(Migrations().first(version)));
    const std::string extras = version < 3 ? "" : version < 6 ? ", NULL" : ", NULL, NULL";
    RunSql(path_, R"(INSERT INTO bucket VALUES('acme', 'gpt-4', 0, 1767225600000,
                     '{"rpm":[98500,0,1500,100000,100000,60000]}')" +
                      extras + ")");
    RunSql(path_, R"(INSERT INTO change VALUES(1, '[["globex","gpt-4",0,1767225600000,
                     {"rpm":[5000,0,1500,100000,100000,60000]}]]'))");
    ASSERT_TRUE(Prepare(Migrations()));
    const std::string shown = R"(SELECT entity, "limit", tokens, configured FROM limits_view
                                 ORDER BY entity, "limit")";
    EXPECT_THAT(RunSql(path_, shown), ElementsAre("acme|rpm|98.5|1", "globex|rpm|5.0|1"));
    RunSql(path_, R"(UPDATE bucket SET extras =
        '{"limits":{"tpm":[2000,0,0,9000,9000,60000,60000,1767225600000]},"left":[0,0]}')");
    EXPECT_THAT(RunSql(path_, shown),
                ElementsAre("acme|rpm|98.5|1", "acme|tpm|2.0|0", "globex|rpm|5.0|1"));
  }
}

TEST_F(SchemaTest, AMigrationThatFailsChangesNothing) {
  ASSERT_TRUE(Prepare(std::span(kLater).first(1)));
  EXPECT_FALSE(Prepare(kBroken));
  EXPECT_EQ(Version(), "1");
  EXPECT_THAT(RunSql(path_, "SELECT * FROM bucket"), ElementsAre("acme"));
}

TEST_F(SchemaTest, RefusesANewerFileAndNamesBothVersions) {
  ASSERT_TRUE(Prepare(kLater));
  const std::string before = ReadFile(path_);
  const Status refused = Prepare(Migrations().first(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr(path_), HasSubstr("version 3"), HasSubstr("up to 1")));
  EXPECT_EQ(ReadFile(path_), before);
}

TEST_F(SchemaTest, RefusesADatabaseOfSomebodyElse) {
  RunSql(path_, "CREATE TABLE recipes(name); INSERT INTO recipes VALUES('soup')");
  const std::string before = ReadFile(path_);
  const Status refused = Prepare(Migrations());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().message, HasSubstr("not a weir file"));
  EXPECT_EQ(ReadFile(path_), before);
}

// Fails if: a process that opens the file while another creates it takes it for another program's,
// or creates it again.
TEST_F(SchemaTest, SeveralMayMakeAFileAtOnce) {
  for (int round = 0; round < 20; ++round) {
    const std::string path = folder_ / std::to_string(round);
    std::vector<Status> prepared(4);
    std::barrier together(4);
    {
      std::vector<std::jthread> threads;
      for (Status& status : prepared) {
        threads.emplace_back([&] {
          auto connection = sqlite::Connection::Open(path, "");
          connection->WaitForOthers(std::chrono::seconds(5));
          together.arrive_and_wait();
          status = PrepareSchema(*connection, kLater);
        });
      }
    }
    for (const Status& status : prepared) EXPECT_TRUE(status) << status.error().message;
    EXPECT_THAT(RunSql(path, "SELECT * FROM bucket"), ElementsAre("acme|eu-west"));
  }
}

}  // namespace
}  // namespace weir
