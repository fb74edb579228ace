// Tests audit events, usage and namespaces if the Nth operation on the disk fails, for every N.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "weir/embedded/testing/embedded_records_fixture.h"
#include "weir/embedded/testing/faulty_vfs.h"
#include "weir/model/ulid.h"

namespace weir {
namespace {

using testing::IsSubsetOf;
using Names = std::multiset<std::string>;

// The contents of a file, or a bound of them.
struct Kept {
  Names entities;
  Names audited;  // the subjects of events
  std::int64_t used = 0;
};

// The life of a file: entities are created, events appended, and usage added. Each step is taken
// even if an earlier one has failed.
class RecordsLife {
 public:
  explicit RecordsLife(const std::string& path) : client_(path), store_(harness_) {}

  void Live(std::uint64_t number, FaultyVfs::Fault fault) {
    disk_.FailAt(number, fault);
    if (!Open() && !Open() && !Open()) return;
    for (int i = 0; i < 3; ++i) {
      Create(fmt::format("entity-{}", i));
      Append(fmt::format("event-{}", i));
      Use();
    }
    (void)client_.Close();
  }

  std::uint64_t failures() const { return disk_.failures(); }
  const Kept& completed() const { return completed_; }
  const Kept& asked() const { return asked_; }

 private:
  bool Open() { return client_.Open({.vfs = disk_.name()}).has_value(); }

  // A call that fails is not repeated. The next task runs, so that the next call finds a retried
  // commit.
  bool Count(const Status& status) {
    if (!status) client_.scheduler().RunNext();
    return status.has_value();
  }
  void Create(const std::string& id) {
    asked_.entities.insert(id);
    if (Count(client_.Apply({CreateEntity{{.entity = {.id = id}}}})))
      completed_.entities.insert(id);
  }
  void Append(const std::string& subject) {
    asked_.audited.insert(subject);
    const AuditEvent event{.id = ids_.Next(client_.now(), {}),
                           .subject = subject,
                           .at = client_.now(),
                           .action = "looked",
                           .principal = {},
                           .resource = {},
                           .details = {}};
    if (Count(store_.Append(event))) completed_.audited.insert(subject);
  }
  void Use() {
    asked_.used += 5;
    const UsageSnapshot added{.entity = "acme",
                              .resource = "gpt-4",
                              .window = UsageWindow::kHourly,
                              .start = {1'767'229'200'000},
                              .used = {{"rpm", 5}},
                              .overdrawn = {},
                              .events = 5};
    if (Count(store_.AddUsage(added))) completed_.used += 5;
  }

  FaultyVfs disk_{"disk"};
  EmbeddedClient client_;
  ClientHarness harness_{client_};
  ContractClient store_;
  UlidMaker ids_;
  Kept completed_;
  Kept asked_;
};

Names ReadNames(const std::string& path, const std::string& sql) {
  const std::vector<std::string> rows = RunSql(path, sql);
  return {rows.begin(), rows.end()};
}

Names Of(const Names& names, const std::string& prefix) {
  Names found;
  for (const std::string& name : names) {
    if (name.starts_with(prefix)) found.insert(name);
  }
  return found;
}

class RecordsNthFailure : public testing::TestWithParam<FaultyVfs::Fault> {};

// Fails if: an entity and its event are two transactions (found with WriteEvents after the log's
// append), a row of usage is changed in two, or a call completes before its commit.
TEST_P(RecordsNthFailure, LeavesNothingHalfDone) {
  TempFolder folder;
  std::uint64_t number = 0;
  for (bool failed = true; failed;) {
    SCOPED_TRACE(fmt::format("operation {} fails", ++number));
    const std::string path = folder / fmt::format("{}.db", number);
    RecordsLife life(path);
    life.Live(number, GetParam());
    failed = life.failures() > 0;
    if (!FileExists(path)) continue;
    ASSERT_TRUE(EmbeddedClient(path).Open()) << "it opens again";
    const Names entities = ReadNames(path, "SELECT id FROM entity");
    const Names audited = ReadNames(path, "SELECT subject FROM audit");
    EXPECT_EQ(Of(audited, "entity-"), entities) << "each change and its event";
    EXPECT_THAT(life.completed().entities, IsSubsetOf(entities));
    EXPECT_THAT(entities, IsSubsetOf(life.asked().entities));
    EXPECT_THAT(life.completed().audited, IsSubsetOf(Of(audited, "event-")));
    const auto usage = RunSql(path, "SELECT used ->> 'rpm', events FROM usage");
    const std::int64_t used = usage.empty() ? 0 : std::stoll(usage.front());
    EXPECT_GE(used, life.completed().used);
    EXPECT_LE(used, life.asked().used);
    if (!usage.empty()) {
      EXPECT_EQ(usage.front(), fmt::format("{}|{}", used, used));
    }
    ASSERT_FALSE(HasFailure());
    ASSERT_LT(number, 2000U) << "it never passes untouched";
  }
  EXPECT_GT(number, 40U) << "the life has become too short to mean much";
}

// Fails if: an interrupted purge cannot continue, or deletes the record before the data. (The data
// are deleted by the system, not through SQLite, so that this step cannot be made to fail here.)
TEST_P(RecordsNthFailure, ANamespaceIsNeverHalfOfOne) {
  TempFolder folder;
  std::uint64_t number = 0;
  for (bool failed = true; failed;) {
    SCOPED_TRACE(fmt::format("operation {} fails", ++number));
    FaultyVfs disk("disk");
    EmbeddedClient client(folder / fmt::format("{}.db", number));
    ASSERT_TRUE(client.Open({.vfs = disk.name()}));
    ClientHarness harness(client);
    ContractClient store(harness);
    const auto data = store.Register("stays");
    ASSERT_TRUE(data);
    disk.FailAt(number, GetParam());
    const auto space = store.Register("team-a");
    const auto deleted = store.Delete("team-a");
    const auto purged = deleted ? store.Purge(deleted->id) : Fail(deleted.error());
    failed = disk.failures() > 0;
    disk.Heal();
    const auto listed = store.ListNamespaces({});
    const auto orphans = store.Orphans({});
    ASSERT_TRUE(listed && orphans);
    EXPECT_EQ(listed->items.front(), *data);
    EXPECT_LE(listed->items.size() + orphans->items.size(), 2U);
    if (space && !deleted) {
      EXPECT_EQ(listed->items.size(), 2U);
    }
    if (!orphans->items.empty()) {
      EXPECT_TRUE(store.Purge(orphans->items.front().id)) << "the next call does the rest";
    }
    EXPECT_TRUE(!purged || orphans->items.empty());
    ASSERT_TRUE(client.Close());
    ASSERT_FALSE(HasFailure());
    ASSERT_LT(number, 500U) << "it never passes untouched";
  }
  EXPECT_GT(number, 10U);
}

std::string FaultName(const testing::TestParamInfo<FaultyVfs::Fault>& tested) {
  constexpr const char* kNames[] = {"error", "full", "short_write"};
  return kNames[static_cast<int>(tested.param)];
}

using enum FaultyVfs::Fault;
INSTANTIATE_TEST_SUITE_P(Embedded, RecordsNthFailure, testing::Values(kError, kFull, kShortWrite),
                         FaultName);

}  // namespace
}  // namespace weir
