// Tests audit events, usage and namespaces in a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "weir/embedded/testing/embedded_records_fixture.h"
#include "weir/model/ulid.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class EmbeddedRecordsTest : public EmbeddedTest {
 protected:
  EmbeddedRecordsTest() { EXPECT_TRUE(client_.Open()); }

  void Reopen() {
    ASSERT_TRUE(client_.Close());
    ASSERT_TRUE(client_.Open());
  }
  AuditEvent Event(const std::string& action) {
    return {.id = ids_.Next(client_.now(), {}),
            .subject = "acme",
            .at = client_.now(),
            .action = action,
            .principal = {},
            .resource = {},
            .details = {}};
  }
  std::vector<std::string> Actions(const std::string& subject) {
    std::vector<std::string> actions;
    const auto page = store_.ListEvents(subject, {});
    EXPECT_TRUE(page);
    if (!page) return actions;
    for (const AuditEvent& event : page->items) actions.push_back(event.action);
    return actions;
  }
  void AddHour(std::int64_t tokens) {
    EXPECT_TRUE(store_.AddUsage({.entity = "acme",
                                 .resource = "gpt-4",
                                 .window = UsageWindow::kHourly,
                                 .start = {1'767'229'200'000},
                                 .used = {{"rpm", tokens}},
                                 .overdrawn = {},
                                 .events = 1}));
  }

  ClientHarness harness_{client_};
  ContractClient store_{harness_};
  UlidMaker ids_;
};

// Fails if: any of the three is stored in memory only.
TEST_F(EmbeddedRecordsTest, SurvivesAReopening) {
  ASSERT_TRUE(store_.Append(Event("looked")));
  ASSERT_TRUE(client_.Apply({CreateEntity{{.entity = {.id = "acme"}}}}));
  AddHour(3);
  const auto space = store_.Register("team-a");
  ASSERT_TRUE(space);
  Reopen();
  EXPECT_THAT(Actions("acme"), UnorderedElementsAre("entity_created", "looked"));
  AddHour(4);
  const auto usage = store_.ListUsage({.entity = "acme"}, {});
  ASSERT_TRUE(usage);
  ASSERT_THAT(usage->items, SizeIs(1));
  EXPECT_EQ(usage->items[0].used.at("rpm"), 7);
  EXPECT_EQ(store_.Resolve("team-a").value_or(""), space->id);
}

// Fails if: added usage exceeds the limit until the ended hours of a bucket are committed.
TEST_F(EmbeddedRecordsTest, AddedUsageIsWithinTheLimit) {
  ASSERT_TRUE(client_.Close());
  ASSERT_TRUE(client_.Open({.usage = {.max_snapshots = 10}}));
  for (int hour = 0; hour < 50; ++hour) {
    const UnixMillis start = UnixMillis{1'767'225'600'000} + std::chrono::hours(hour);
    ASSERT_TRUE(store_.AddUsage({.entity = "acme",
                                 .resource = "gpt-4",
                                 .window = UsageWindow::kHourly,
                                 .start = start,
                                 .used = {{"rpm", hour}},
                                 .overdrawn = {},
                                 .events = 1}));
  }
  const auto usage = store_.ListUsage({.entity = "acme"}, {.limit = 100});
  ASSERT_TRUE(usage);
  ASSERT_THAT(usage->items, SizeIs(10));
  EXPECT_EQ(usage->items.back().used.at("rpm"), 40) << "the oldest left";
}

// Fails if: the retention of a file is 90 days whatever it sets, or a reopening forgets it.
TEST_F(EmbeddedRecordsTest, EventsExpireByTheRetentionThatTheFileSets) {
  ASSERT_TRUE(store_.SetRetention(2));
  Reopen();
  ASSERT_TRUE(client_.Apply({CreateEntity{{.entity = {.id = "acme"}}}}));
  ASSERT_TRUE(store_.Append(Event("looked")));
  const auto actions_after = [&](std::chrono::hours passed) {
    client_.scheduler().sim_clock().Advance(passed);
    EXPECT_TRUE(store_.Append(Event("later")));
    return Actions("acme");
  };
  EXPECT_THAT(actions_after(std::chrono::hours(47)),
              UnorderedElementsAre("entity_created", "looked", "later"));
  EXPECT_THAT(actions_after(std::chrono::hours(1)), ElementsAre("later", "later"));
}

// Fails if: a call completes before its commit, or a change and its event are two transactions.
TEST_F(EmbeddedRecordsTest, WhatWasAnsweredSurvivesAKill) {
  ASSERT_TRUE(client_.Apply({CreateEntity{{.entity = {.id = "acme"}}}}));
  ASSERT_TRUE(store_.Append(Event("looked")));
  AddHour(3);
  const std::string killed = client_.CopyAsKilled();
  ASSERT_TRUE(client_.Close());
  EXPECT_THAT(RunSql(killed, "SELECT action FROM audit ORDER BY id"),
              UnorderedElementsAre("entity_created", "looked"));
  EXPECT_THAT(RunSql(killed, "SELECT used FROM usage"), ElementsAre(R"({"rpm":3})"));
}

// Fails if: old events are not deleted, or the time of an event is taken for the present.
TEST_F(EmbeddedRecordsTest, EventsAreKeptForNinetyDays) {
  ASSERT_TRUE(store_.Append(Event("old")));
  client_.scheduler().Advance(std::chrono::days(89));
  AuditEvent ahead = Event("ahead");
  ahead.at = ahead.at + std::chrono::days(3650);
  ASSERT_TRUE(store_.Append(ahead));
  EXPECT_THAT(Actions("acme"), ElementsAre("ahead", "old"));
  client_.scheduler().Advance(std::chrono::days(2));
  ASSERT_TRUE(store_.Append(Event("new")));
  EXPECT_THAT(Actions("acme"), ElementsAre("new", "ahead"));
}

// Fails if: a damaged row is read with other contents, or hides the others.
TEST_F(EmbeddedRecordsTest, U11DamagedRowsAreLeftOutAndReported) {
  ASSERT_TRUE(store_.Append(Event("looked")));
  AddHour(1);
  ASSERT_TRUE(client_.Close());
  RunSql(client_.path(), "UPDATE audit SET details = '{'; UPDATE usage SET used = '[1]'");
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(store_.Append(Event("again")));
  EXPECT_THAT(Actions("acme"), ElementsAre("again"));
  const auto usage = store_.ListUsage({.entity = "acme"}, {});
  ASSERT_TRUE(usage);
  EXPECT_TRUE(usage->items.empty());
}

// Fails if: a sum wraps around, or part of a snapshot that does not fit is added.
TEST_F(EmbeddedRecordsTest, ASumBeyondSixtyFourBitsIsRefused) {
  AddHour(INT64_MAX);
  UsageSnapshot more{.entity = "acme",
                     .resource = "gpt-4",
                     .window = UsageWindow::kHourly,
                     .start = {1'767'229'200'000},
                     .used = {{"aaa", 1}, {"rpm", 1}},
                     .overdrawn = {},
                     .events = 1};
  const Status added = store_.AddUsage(more);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Code::kOutOfRange);
  EXPECT_EQ(store_.ListUsage({.entity = "acme"}, {})->items[0].used.size(), 1U);
}

class EmbeddedNamespacesTest : public EmbeddedRecordsTest {
 protected:
  Result<std::unique_ptr<EmbeddedBackend>> OpenSpace(const std::string& name) {
    return OpenEmbedded(client_.path(), client_.scheduler(), {.namespace_name = name});
  }
};

// Fails if: a read creates the registry, or the file of a namespace is created before it has data.
TEST_F(EmbeddedNamespacesTest, ARegistryComesWithTheFirstNamespace) {
  EXPECT_THAT(store_.ListNamespaces({})->items, IsEmpty());
  EXPECT_FALSE(store_.Delete("team-a"));
  EXPECT_FALSE(FileExists(client_.path() + "-namespaces"));
  const auto space = store_.Register("team-a");
  ASSERT_TRUE(space);
  EXPECT_TRUE(FileExists(client_.path() + "-namespaces"));
  EXPECT_FALSE(FileExists(client_.path() + "." + space->id));
}

// Fails if: an unregistered namespace can be opened, or one under the name of another.
TEST_F(EmbeddedNamespacesTest, ANamespaceIsOpenedByItsName) {
  const auto missing = OpenSpace("team-a");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("weir namespace register team-a"));
  const auto space = store_.Register("team-a");
  ASSERT_TRUE(space);
  {
    auto opened = OpenSpace("team-a");
    ASSERT_TRUE(opened);
    EXPECT_THAT((*opened)->Describe(), HasSubstr("weir.db?namespace=team-a"));
    EXPECT_FALSE(OpenSpace("team-a")) << "it has one owner";
    EXPECT_TRUE(client_.is_open()) << "the file itself another";
  }
  EXPECT_TRUE(FileExists(client_.path() + "." + space->id));
  ASSERT_TRUE(store_.Delete("team-a"));
  EXPECT_FALSE(OpenSpace("team-a"));
  EXPECT_EQ(OpenSpace("id:" + space->id).error().code, Code::kFailedPrecondition);
}

// Fails if: each namespace has a registry of its own.
TEST_F(EmbeddedNamespacesTest, AllNamespacesOfAFileSeeOneRegistry) {
  ASSERT_TRUE(store_.Register("team-a"));
  auto opened = OpenSpace("team-a");
  ASSERT_TRUE(opened);
  const auto other = store_.Call<Namespace>([&](Done<Namespace> done) {
    (*opened)->namespaces().Register("team-b", Deadline::Never(), std::move(done));
  });
  ASSERT_TRUE(other);
  EXPECT_EQ(store_.Resolve("team-b").value_or(""), other->id);
}

// Fails if: a purge deletes a file that a process owns.
TEST_F(EmbeddedNamespacesTest, APurgeWaitsForTheOwnerToLeave) {
  const auto space = store_.Register("team-a");
  ASSERT_TRUE(space);
  auto opened = OpenSpace("team-a");
  ASSERT_TRUE(opened && store_.Delete("team-a"));
  const auto refused = store_.Purge(space->id);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  ASSERT_TRUE((*opened)->Close());
  EXPECT_TRUE(store_.Purge(space->id));
  EXPECT_FALSE(FileExists(client_.path() + "." + space->id));
  EXPECT_FALSE(FileExists(client_.path() + "." + space->id + "-lock"));
}

// Fails if: a file that a killed owner left stays after the purge.
TEST_F(EmbeddedNamespacesTest, APurgeAfterAKillLeavesNoFile) {
  const auto space = store_.Register("team-a");
  ASSERT_TRUE(space);
  ASSERT_TRUE(OpenSpace("team-a"));
  const std::string file = client_.path() + "." + space->id;
  ASSERT_TRUE(FileExists(file));
  for (const char* suffix : {"-wal", "-shm"}) WriteFile(file + suffix, "left by a killed owner");
  ASSERT_TRUE(store_.Delete("team-a"));
  ASSERT_TRUE(store_.Purge(space->id));
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_FALSE(entry.path().string().starts_with(file)) << entry.path();
  }
}

}  // namespace
}  // namespace weir
