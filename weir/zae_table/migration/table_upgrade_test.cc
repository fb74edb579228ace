#include "weir/zae_table/migration/table_upgrade.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "weir/zae_table/config/config_item.h"
#include "weir/zae_table/config/config_listing.h"
#include "weir/zae_table/migration/level_migration.h"
#include "weir/zae_table/records/audit.h"
#include "weir/zae_table/testing/zae_sim_table.h"
#include "weir/zae_table/version.h"

namespace weir::dynamo {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Item LegacyItem(const std::string& pk, const std::string& sk, std::int64_t tokens) {
  return {{"PK", Of(pk)},
          {"SK", Of(sk)},
          {"capacity", Of(tokens)},
          {"burst", Of(tokens + 5)},
          {"refill_amount", Of(tokens)},
          {"refill_period_seconds", Of(60)}};
}

// A table of schema 0.7 with legacy limits at every kind of level, in two namespaces.
struct OldTable : ZaeSimTable {
  OldTable() {
    Item record = NewVersionRecord({0}, "old");
    record.insert_or_assign("schema_version", Of("0.7.0"));
    record.insert_or_assign("client_min_version", Of("0.15.0"));
    record.insert_or_assign("lambda_version", Of("0.7.1"));
    Put(record);
    Put(LegacyItem("ns/SYSTEM#", "#LIMIT#rpm", 10));
    Put(LegacyItem("ns/RESOURCE#gpt-4", "#LIMIT#rpm", 20));
    Put(LegacyItem("ns/RESOURCE#gpt-4", "#LIMIT#tpm", 2000));
    Put(LegacyItem("ns/ENTITY#acme", "#LIMIT#gpt-4#rpm", 30));
    Put(LegacyItem("ns/ENTITY#acme", "#LIMIT#gpt-4#tpm", 3000));
    Put(LegacyItem("ns/ENTITY#acme", "#LIMIT#_default_#rpm", 40));
    Put(LegacyItem("other/ENTITY#acme", "#LIMIT#gpt-4#rpm", 50));
  }

  Result<UpgradeReport> Upgrade(bool dry_run = false, bool clears_aggregator = false) {
    UpgradeRequest request{
        .dry_run = dry_run, .clears_aggregator = clears_aggregator, .by = "test", .page = 2};
    request.sources = {.now = [this] { return table.Now(); },
                       .random = [this] { return random_ += 0x9E3779B97F4A7C15; },
                       .principal = "ops"};
    return Ask<UpgradeReport>(
        [&](auto done) { UpgradeTable(table, std::move(request), deadlines, std::move(done)); });
  }
  std::function<Deadline()> deadlines = [] { return Deadline::Never(); };

  std::vector<Limit> LimitsAt(const std::string& ns, const Level& level) {
    const auto item = Get(Keys(ns).Config(level));
    if (!item) return {};
    const auto limits = ReadConfig(level, *item);
    return limits && *limits ? (*limits)->limits : std::vector<Limit>{};
  }
  std::size_t CountSort(std::string_view part) {
    return static_cast<std::size_t>(std::ranges::count_if(
        AllKeys(), [&](const TableKey& key) { return key.sk.starts_with(part); }));
  }
  std::string SchemaVersion() { return ReadVersion(*Get(VersionRecord())).schema; }

 private:
  std::uint64_t random_ = 0;
};

// The limits of each level, as they must be after the upgrade.
const std::map<NamespaceLevel, std::vector<Limit>> kWanted = {
    {{"ns", Level::System()}, {{"rpm", PerMinute(10).Burst(15)}}},
    {{"ns", Level::Resource("gpt-4")},
     {{"rpm", PerMinute(20).Burst(25)}, {"tpm", PerMinute(2000).Burst(2005)}}},
    {{"ns", Level::Entity("acme", "gpt-4")},
     {{"rpm", PerMinute(30).Burst(35)}, {"tpm", PerMinute(3000).Burst(3005)}}},
    {{"ns", Level::EntityDefault("acme")}, {{"rpm", PerMinute(40).Burst(45)}}},
    {{"other", Level::Entity("acme", "gpt-4")}, {{"rpm", PerMinute(50).Burst(55)}}},
};

void ExpectMigrated(OldTable& old) {
  for (const auto& [at, limits] : kWanted) {
    EXPECT_EQ(old.LimitsAt(at.namespace_id, at.level), limits) << Describe(at);
  }
  EXPECT_EQ(old.CountSort("#LIMIT#"), 0U);
  EXPECT_EQ(old.SchemaVersion(), "0.10.0");
  EXPECT_EQ(old.CountSort("#AUDIT#"), kWanted.size());
  EXPECT_EQ(*GetNumber(*old.Get(Keys("ns").EntityConfigRegistry()), "gpt-4"), 1);
  EXPECT_EQ(*GetNumber(*old.Get(Keys("ns").EntityConfigRegistry()), "_default_"), 1);
  EXPECT_THAT(GetSet(*old.Get(Keys("ns").ResourceRegistry()), "resources")->members,
              ElementsAre("gpt-4"));
}

// Returns the number of levels that are migrated.
std::size_t CountMigrated(OldTable& old) {
  return static_cast<std::size_t>(std::ranges::count_if(kWanted, [&](const auto& entry) {
    return !old.LimitsAt(entry.first.namespace_id, entry.first.level).empty();
  }));
}

// Each level has its limits in one form or in the other.
void ExpectNothingLost(OldTable& old) {
  for (const auto& [at, limits] : kWanted) {
    if (!old.LimitsAt(at.namespace_id, at.level).empty()) continue;
    for (const Limit& limit : limits) {
      const std::string pk = Keys(at.namespace_id).Config(at.level).pk;
      EXPECT_TRUE(old.Get({pk, LegacySortOf(at.level) + limit.name})) << Describe(at);
    }
  }
}

TEST(TableUpgrade, LimitsOfAllLevelsAndTheVersionAreMigrated) {
  OldTable old;
  const auto report = old.Upgrade();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->from, "0.7.0");
  EXPECT_TRUE(report->sets_version);
  EXPECT_EQ(report->levels, 5U);
  EXPECT_EQ(report->conflicts, 0U);
  EXPECT_EQ(report->removed, 7U);
  EXPECT_THAT(
      report->done.lines(),
      Contains("namespace other, entity acme, resource gpt-4: rpm:50:55 (legacy items: 1)"));
  ExpectMigrated(old);
  const VersionInfo version = ReadVersion(*old.Get(VersionRecord()));
  EXPECT_EQ(version.client_min, "0.15.0");
  EXPECT_EQ(version.lambda, "0.7.1");
  EXPECT_EQ(version.updated_by, "test");
}

TEST(TableUpgrade, TheEventNamesTheAuthorAndTheLegacyItems) {
  OldTable old;
  ASSERT_TRUE(old.Upgrade());
  const auto page = old.Ask<Page<AuditEvent>>([&](auto done) {
    AuditTrail(old.table, Keys("ns")).List("acme", {}, Deadline::Never(), std::move(done));
  });
  ASSERT_TRUE(page);
  ASSERT_THAT(page->items, SizeIs(2));
  for (const AuditEvent& event : page->items) {
    EXPECT_EQ(event.action, "limits_set");
    EXPECT_EQ(event.principal, "ops");
    EXPECT_TRUE(event.details.contains("legacy_items"));
  }
}

TEST(TableUpgrade, ASecondRunFindsNothing) {
  OldTable old;
  ASSERT_TRUE(old.Upgrade());
  const auto again = old.Upgrade();
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(again->sets_version);
  EXPECT_EQ(again->removed, 0U);
  ExpectMigrated(old);
}

TEST(TableUpgrade, ADryRunReportsTheSameAndWritesNothing) {
  OldTable old;
  const std::vector<TableKey> before = old.AllKeys();
  const auto dry = old.Upgrade(true);
  ASSERT_TRUE(dry) << dry.error().message;
  EXPECT_EQ(old.AllKeys(), before);
  EXPECT_EQ(old.SchemaVersion(), "0.7.0");
  const auto real = old.Upgrade();
  EXPECT_EQ(dry->done.lines(), real->done.lines());
  EXPECT_EQ(dry->removed, real->removed);
  EXPECT_EQ(dry->sets_version, real->sets_version);
}

// Fails if: a composite item is replaced.
TEST(TableUpgrade, ACompositeItemThatExistsWins) {
  OldTable old;
  Item composite = ToItem(Keys("ns").Config(Level::Resource("gpt-4")));
  composite.insert({{"l_rpm_cp", Of(7)}, {"l_rpm_ra", Of(7)}, {"l_rpm_rp", Of(60)}});
  old.Put(composite);
  const auto report = old.Upgrade();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->conflicts, 1U);
  EXPECT_THAT(report->differences.lines(),
              ElementsAre(HasSubstr("rpm:7, which stays; the legacy item rpm:20:25 is removed"),
                          HasSubstr("no limit tpm, which stays")));
  EXPECT_THAT(old.LimitsAt("ns", Level::Resource("gpt-4")),
              ElementsAre(Limit{"rpm", PerMinute(7)}));
  EXPECT_EQ(old.CountSort("#LIMIT#"), 0U);
}

TEST(TableUpgrade, SettingsOfTheSystemWithoutLimitsStay) {
  OldTable old;
  Item system = ToItem(Keys("ns").Config(Level::System()));
  system.insert({{"on_unavailable", Of("allow")}, {"audit_retention_days", Of(7)}});
  old.Put(system);
  ASSERT_TRUE(old.Upgrade());
  const Item after = *old.Get(Keys("ns").Config(Level::System()));
  EXPECT_EQ(after.at("on_unavailable"), Of("allow"));
  EXPECT_EQ(after.at("audit_retention_days"), Of(7));
  EXPECT_EQ(*GetNumber(after, "l_rpm_cp"), 15);
}

TEST(TableUpgrade, ALevelThatCannotBeMigratedIsReportedAndTheVersionStays) {
  OldTable old;
  old.Put(LegacyItem("ns/ENTITY#bad", "#LIMIT#gpt-4#rpm", 0));
  const auto report = old.Upgrade();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(report->problems.lines(), ElementsAre(HasSubstr("entity bad, resource gpt-4")));
  EXPECT_FALSE(report->sets_version);
  EXPECT_EQ(report->levels, 5U);
  EXPECT_EQ(old.SchemaVersion(), "0.7.0");
  EXPECT_TRUE(old.Get({"ns/ENTITY#bad", "#LIMIT#gpt-4#rpm"}));
}

// At whatever request a run ends, nothing is lost, and another run completes the upgrade.
void EndAtEachRequest(DirectClient::Fault fault) {
  for (std::uint64_t nth = 1;; ++nth) {
    ASSERT_LT(nth, 200U) << "an upgrade without a failure is expected to end";
    OldTable old;
    old.client.FailFrom(nth, fault);
    const auto ended = old.Upgrade();
    old.client.Heal();
    ExpectNothingLost(old);
    if (ended && !ended->ended) return ExpectMigrated(old);
    const std::size_t reported = ended ? ended->levels : 0;
    const bool is_known = fault == DirectClient::Fault::kUnsent;
    EXPECT_LE(reported, CountMigrated(old));
    EXPECT_GE(reported + (is_known ? 0 : 1), CountMigrated(old)) << "request " << nth;
    EXPECT_FALSE(ended && ended->sets_version);
    if (fault == DirectClient::Fault::kUnsent) {
      EXPECT_EQ(old.SchemaVersion(), "0.7.0") << "the version is written last; request " << nth;
    }
    const auto again = old.Upgrade();
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_FALSE(again->ended);
    ExpectMigrated(old);
    if (testing::Test::HasFailure()) FAIL() << "after a failure of request " << nth;
  }
}

TEST(TableUpgrade, CompletesAfterAnyRequestThatWasNotSent) {
  EndAtEachRequest(DirectClient::Fault::kUnsent);
}

TEST(TableUpgrade, CompletesAfterAnyResponseThatWasLost) {
  EndAtEachRequest(DirectClient::Fault::kLostResponse);
}

// Fails if: a legacy item is deleted that is not as it was read.
TEST(TableUpgrade, ALimitThatAnOldClientChangesMeanwhileIsMigratedAsChanged) {
  OldTable old;
  bool changed = false;
  old.client.before_each = [&](const JsonCall& call) {
    if (changed || call.operation != "TransactWriteItems") return;
    changed = true;
    old.Put(LegacyItem("ns/ENTITY#acme", "#LIMIT#_default_#rpm", 44));
  };
  ASSERT_TRUE(old.Upgrade());
  EXPECT_THAT(old.LimitsAt("ns", Level::EntityDefault("acme")),
              ElementsAre(Limit{"rpm", PerMinute(44).Burst(49)}));
}

// Fails if: the minimum of clients is written back as it was read.
TEST(TableUpgrade, AMinimumThatIsRaisedMeanwhileStays) {
  OldTable old;
  old.client.before_each = [&](const JsonCall& call) {
    if (call.operation != "UpdateItem") return;
    Item record = *old.Get(VersionRecord());
    record.insert_or_assign("client_min_version", Of("0.16.0"));
    old.Put(record);
  };
  const auto ended = old.Upgrade();
  ASSERT_TRUE(ended && ended->ended);
  EXPECT_EQ(ended->ended->code, Code::kAborted);
  EXPECT_EQ(ended->levels, 5U);
  old.client.before_each = nullptr;
  ASSERT_TRUE(old.Upgrade());
  EXPECT_EQ(ReadVersion(*old.Get(VersionRecord())).client_min, "0.16.0");
}

// Fails if: a transaction that can never succeed is planned again and again.
TEST(TableUpgrade, ATransactionThatIsRefusedForGoodEndsTheRunAtOnce) {
  OldTable old;
  int tries = 0;
  // The reasons of the first two actions.
  old.client.cancellation = R"(ConditionalCheckFailed"},{"Code":"ValidationError)";
  old.client.before_each = [&](const JsonCall& call) {
    tries += call.operation == "TransactWriteItems" ? 1 : 0;
  };
  const auto ended = old.Upgrade();
  ASSERT_TRUE(ended && ended->ended);
  EXPECT_EQ(tries, 1);
}

// Fails if: one deadline bounds the whole run, which a large table exceeds.
TEST(TableUpgrade, EachRequestHasADeadlineOfItsOwn) {
  OldTable old;
  old.client.clock = &old.scheduler.clock();
  old.client.before_each = [&](const JsonCall&) {
    old.scheduler.sim_clock().Advance(milliseconds(900));
  };
  old.deadlines = [&] { return Deadline::After(old.scheduler.clock(), milliseconds(1000)); };
  const auto report = old.Upgrade();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->ended) << report->ended->message;
  ExpectMigrated(old);
}

TEST(TableUpgrade, AnAggregatorThatDoesNotRunIsRemovedOnRequestOnly) {
  OldTable old;
  EXPECT_EQ(old.Upgrade(true, true)->aggregator, "0.7.1");
  EXPECT_EQ(ReadVersion(*old.Get(VersionRecord())).lambda, "0.7.1") << "a dry run";
  EXPECT_EQ(old.Upgrade()->aggregator, "");
  EXPECT_EQ(ReadVersion(*old.Get(VersionRecord())).lambda, "0.7.1");
  const auto cleared = old.Upgrade(false, true);
  ASSERT_TRUE(cleared && !cleared->ended);
  EXPECT_EQ(cleared->aggregator, "0.7.1");
  EXPECT_EQ(ReadVersion(*old.Get(VersionRecord())).lambda, std::nullopt);
  EXPECT_EQ(old.SchemaVersion(), "0.10.0");
}

// Fails if: an aggregator that registers meanwhile is removed, too.
TEST(TableUpgrade, AnAggregatorThatIsDeployedMeanwhileStays) {
  OldTable old;
  old.client.before_each = [&](const JsonCall& call) {
    if (call.operation != "UpdateItem") return;
    Item record = *old.Get(VersionRecord());
    record.insert_or_assign("lambda_version", Of("0.17.0"));
    old.Put(record);
  };
  const auto ended = old.Upgrade(false, true);
  ASSERT_TRUE(ended && ended->ended);
  EXPECT_EQ(ended->aggregator, "");
  EXPECT_EQ(ReadVersion(*old.Get(VersionRecord())).lambda, "0.17.0");
}

TEST(TableUpgrade, ItemsThatNameNoLimitAreCounted) {
  OldTable old;
  old.Put(LegacyItem("ns/ENTITY#acme", "#LIMIT#norest", 1));
  old.Put(LegacyItem("ns/RESOURCE#gpt-4", "#LIMIT#", 1));
  const auto report = old.Upgrade();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->unread, 2U);
  EXPECT_EQ(old.CountSort("#LIMIT#"), 2U);
}

TEST(TableUpgrade, ATableOfALaterSchemaOrForNewerClientsIsLeftAsItIs) {
  for (const auto& [field, version] :
       {std::pair("schema_version", "0.11.0"), std::pair("schema_version", "1.0.0"),
        std::pair("client_min_version", "0.18.0")}) {
    OldTable old;
    Item record = *old.Get(VersionRecord());
    record.insert_or_assign(field, Of(version));
    old.Put(record);
    const auto refused = old.Upgrade();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(refused.error().message, HasSubstr(version));
    EXPECT_EQ(old.CountSort("#LIMIT#"), 7U);
  }
}

TEST(TableUpgrade, ATableThatLacksAnIndexIsNotMigrated) {
  TableLayout layout = ZaeLayout();
  layout.global_indexes.erase("GSI4");
  layout.key_types.erase("GSI4PK");
  layout.key_types.erase("GSI4SK");
  layout.local_indexes.clear();
  for (int i = 1; i <= 5; ++i) layout.key_types.erase("LSI" + std::to_string(i) + "SK");
  ZaeSimTable sim(true);
  CreateTableIn(sim.server, "limits", layout);
  sim.scheduler.RunReady();
  const auto refused = sim.Ask<UpgradeReport>([&](auto done) {
    UpgradeTable(sim.table, {}, [] { return Deadline::Never(); }, std::move(done));
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().message, HasSubstr("GSI4"));
}

}  // namespace
}  // namespace weir::dynamo
