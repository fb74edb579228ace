#include "weir/zae_table/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using testing::HasSubstr;

VersionInfo Info(std::string schema, std::string client_min) {
  return {.schema = std::move(schema), .client_min = std::move(client_min)};
}

Result<VersionInfo> Open(ZaeSimTable& sim) {
  return sim.Ask<VersionInfo>(
      [&](auto done) { OpenCheck(sim.table, Deadline::Never(), std::move(done)); });
}

TEST(Version, IsReadAsZaeLimiterWritesIt) {
  EXPECT_EQ(ParseVersion("0.17.0"), (Version{0, 17, 0, true, ""}));
  EXPECT_EQ(ParseVersion("v1.2.3"), (Version{1, 2, 3, true, ""}));
  EXPECT_EQ(ParseVersion("1.2.3-rc.1"), (Version{1, 2, 3, false, "rc.1"}));
  EXPECT_EQ(ParseVersion("0.1.0.dev123+gabc"), (Version{0, 1, 0, false, "dev"}));
  EXPECT_EQ(ParseVersion("0.1.0+build"), (Version{0, 1, 0, true, ""}));
}

TEST(Version, OtherTextsAreNone) {
  for (const char* text : {"", "1", "1.2", "1.2.x", "a.b.c", "1.2.3-", "1.2.3 ", "1.2.3\n",
                           "-1.2.3", "1.2.3-a_b", "99999999999.0.0", "1..3"}) {
    EXPECT_EQ(ParseVersion(text), std::nullopt) << text;
  }
}

TEST(Version, NumbersSortAsNumbersAndPreReleasesFirst) {
  EXPECT_LT(*ParseVersion("0.9.0"), *ParseVersion("0.10.0"));
  EXPECT_LT(*ParseVersion("0.17.0-rc.1"), *ParseVersion("0.17.0"));
  EXPECT_LT(*ParseVersion("0.16.9"), *ParseVersion("0.17.0-rc.1"));
}

TEST(Version, ATableForNewerClientsIsLeftAlone) {
  EXPECT_TRUE(CheckVersion(Info("0.10.0", "0.0.0")));
  EXPECT_TRUE(CheckVersion(Info("0.10.0", "0.17.0")));
  EXPECT_TRUE(CheckVersion(Info("0.9.0", "0.17.0-rc.1")));
  const Status newer = CheckVersion(Info("0.10.0", "0.17.1"));
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(newer.error().message, HasSubstr("0.17.1"));
  EXPECT_THAT(newer.error().message, HasSubstr("0.17.0"));
}

TEST(Version, ASchemaOfAnotherMajorVersionIsRefused) {
  const Status other = CheckVersion(Info("1.0.0", "0.0.0"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(other.error().message, HasSubstr("1.0.0"));
}

TEST(Version, WhatIsNoVersionIsNotTakenForAnOldOne) {
  EXPECT_THAT(CheckVersion(Info("", "0.0.0")).error().message, HasSubstr("schema_version"));
  EXPECT_THAT(CheckVersion(Info("0.10.0", "new")).error().message, HasSubstr("'new'"));
}

// Fails if: a build of the release that is needed is refused, which zae-limiter accepts.
TEST(Version, AnOlderAggregatorIsRefusedByItsNumbers) {
  VersionInfo info = Info("0.10.0", "0.0.0");
  EXPECT_TRUE(CheckAggregator(info, "0.17.0"));
  for (const char* fits : {"0.17.0", "0.17.0-rc.1", "0.17.0.dev5+gabc", "0.18.0", "1.0.0"}) {
    info.lambda = fits;
    EXPECT_TRUE(CheckAggregator(info, "0.17.0")) << fits;
  }
  for (const char* older : {"0.16.9", "0.16.9.dev1", "0.9.0"}) {
    info.lambda = older;
    const Status refused = CheckAggregator(info, "0.17.0");
    ASSERT_FALSE(refused) << older;
    EXPECT_THAT(refused.error().message, HasSubstr(older));
    EXPECT_THAT(refused.error().message, HasSubstr("--no-zae-aggregator"));
  }
}

TEST(Version, ANewRecordReadsBack) {
  const Item record = NewVersionRecord({1'767'225'600'000}, "weir 0.1.0");
  EXPECT_EQ(KeyOf(record), VersionRecord());
  EXPECT_EQ(*GetText(record, "GSI4PK"), "_");
  EXPECT_EQ(*GetText(record, "GSI4SK"), "_/SYSTEM#");
  EXPECT_EQ(record.at("lambda_version"), Value{Null{}});
  const VersionInfo info = ReadVersion(record);
  EXPECT_EQ(info.schema, "0.10.0");
  EXPECT_EQ(info.client_min, "0.0.0");
  EXPECT_EQ(info.lambda, std::nullopt);
  EXPECT_EQ(info.updated_at, UnixMillis{1'767'225'600'000});
  EXPECT_EQ(info.updated_by, "weir 0.1.0");
  EXPECT_EQ(NewVersionRecord({0}, "").at("updated_by"), Value{Null{}});
}

TEST(ClientMin, IsRaisedOnlyToALaterRelease) {
  Item record = NewVersionRecord({0}, "");
  EXPECT_TRUE(RaiseClientMin(record, "0.17.0"));
  for (const char* stored : {"0.17.0", "0.18.0", "1.0.0", "new"}) {
    record.insert_or_assign("client_min_version", Of(stored));
    EXPECT_FALSE(RaiseClientMin(record, "0.17.0")) << stored;
  }
  record.insert_or_assign("client_min_version", Of("0.17.0-rc.1"));
  EXPECT_TRUE(RaiseClientMin(record, "0.17.0"));
  record.erase("client_min_version");
  EXPECT_TRUE(RaiseClientMin(record, "0.17.0"));
}

TEST(OpenCheck, ATableThatIsNotThereIsNotFound) {
  ZaeSimTable sim(true);
  const auto opened = Open(sim);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kNotFound);
  EXPECT_THAT(opened.error().message, HasSubstr("weir table create"));
  EXPECT_EQ(sim.server.Table("limits"), nullptr);
}

TEST(OpenCheck, ATableWithoutARecordIsRefusedAndNotGivenOne) {
  ZaeSimTable sim;
  const auto opened = Open(sim);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kFailedPrecondition);
  EXPECT_TRUE(sim.AllKeys().empty());
}

TEST(OpenCheck, TellsWhatTheTableIs) {
  ZaeSimTable sim;
  Item record = NewVersionRecord({0}, "");
  record.insert_or_assign("client_min_version", Of("0.16.0"));
  record.insert_or_assign("lambda_version", Of("0.17.0"));
  sim.Put(record);
  const auto opened = Open(sim);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->client_min, "0.16.0");
  EXPECT_EQ(opened->lambda, "0.17.0");
}

TEST(OpenCheck, ATableForNewerClientsIsNotOpened) {
  ZaeSimTable sim;
  Item record = NewVersionRecord({0}, "");
  record.insert_or_assign("client_min_version", Of("0.18.0"));
  sim.Put(record);
  EXPECT_EQ(Open(sim).error().code, Code::kFailedPrecondition);
}

TEST(OpenCheck, AFailureOfTheStoreStaysOne) {
  ZaeSimTable sim;
  sim.client.FailFrom(1, DirectClient::Fault::kUnsent);
  EXPECT_EQ(Open(sim).error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace weir::dynamo
