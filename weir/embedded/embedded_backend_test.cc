// Tests the backend as its users see it: the file, its owner, and its contents after a restart.
#include "weir/embedded/embedded_backend.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "weir/embedded/file/schema.h"
#include "weir/embedded/file/sqlite.h"
#include "weir/embedded/reading_backend.h"
#include "weir/embedded/testing/embedded_fixture.h"
#include "weir/embedded/testing/faulty_vfs.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(EmbeddedTest, KeepsBalancesAcrossARestart) {
  const TargetPtr acme = StillTarget("acme", 10);
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(acme, 3)})->admitted);
  ASSERT_TRUE(client_.Adjust({Take(acme, 9)}));
  EXPECT_TRUE(client_.Close());
  ASSERT_TRUE(client_.Open());
  EXPECT_EQ(client_.Balance(acme), -2000);
  EXPECT_FALSE(client_.Acquire({Take(acme, 1)})->admitted);
}

TEST_F(EmbeddedTest, ARelaxedAnswerThatWasCommittedSurvivesAKill) {
  const TargetPtr acme = StillTarget("acme", 10);
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(acme, 3)})->admitted);
  client_.Commit();
  ASSERT_TRUE(client_.Acquire({Take(acme, 4)})->admitted);
  EmbeddedClient after(client_.CopyAsKilled());
  ASSERT_TRUE(after.Open());
  EXPECT_EQ(after.Balance(acme), 7000) << "all but the last commit interval";
}

TEST_F(EmbeddedTest, AStrictAnswerSurvivesAKill) {
  const TargetPtr acme = StillTarget("acme", 10);
  ASSERT_TRUE(client_.Open({.durability = Durability::kStrict}));
  ASSERT_TRUE(client_.Acquire({Take(acme, 3)})->admitted);
  EmbeddedClient after(client_.CopyAsKilled());
  ASSERT_TRUE(after.Open());
  EXPECT_EQ(after.Balance(acme), 7000);
}

// Fails if: limits that a debit or a look stored are lost, and the old rate is in force again.
TEST_F(EmbeddedTest, LimitsThatDebitsAndLooksStoreSurviveAKill) {
  const auto rate = [](EmbeddedClient& client, const TargetPtr& target) {
    return client.Read(target->key)->bucket.meters.at(0).quota;
  };
  for (const Durability durability : {Durability::kStrict, Durability::kRelaxed}) {
    ASSERT_TRUE(client_.Open({.durability = durability}));
    const TargetPtr debited = MakeTarget({"debited", "gpt-4", 0}, {{"rpm", PerDay(9)}});
    const TargetPtr looked = MakeTarget({"looked", "gpt-4", 0}, {{"rpm", PerDay(9)}});
    ASSERT_TRUE(client_.Acquire({Take(debited, 9), Take(looked, 9)})->admitted);
    const std::vector<Limit> other = {{"rpm", PerDay(8)}};
    ASSERT_TRUE(client_.Adjust({Take(MakeTarget(debited->key, other), 1)}, true));
    ASSERT_TRUE(client_.Acquire({Take(MakeTarget(looked->key, other), 0)})->admitted);
    if (durability == Durability::kRelaxed) client_.Commit();
    EmbeddedClient after(client_.CopyAsKilled());
    ASSERT_TRUE(after.Open());
    EXPECT_EQ(rate(after, debited), PerDay(8));
    EXPECT_EQ(rate(after, looked), PerDay(8));
    EXPECT_TRUE(client_.Close());
    std::filesystem::remove(client_.path());
  }
}

// Fails if: a command whose change is stored fails because the disk has no space for the fold and
// the checkpoint of its end.
TEST_F(EmbeddedTest, AFullDiskAtTheEndFailsNothingThatIsStored) {
  for (const Durability durability : {Durability::kStrict, Durability::kRelaxed}) {
    FaultyVfs disk("disk");
    const TargetPtr acme = StillTarget("acme", 10);
    EmbeddedClient client(folder_ /
                          (durability == Durability::kStrict ? "strict.db" : "relaxed.db"));
    ASSERT_TRUE(client.Open({.durability = durability, .vfs = "disk"}));
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(client.Acquire({Take(StillTarget("user-" + std::to_string(i), 9), 1)})->admitted);
    }
    ASSERT_TRUE(client.Acquire({Take(acme, 3)})->admitted);
    client.Commit();
    disk.ForbidGrowth();
    const Status closed = client.Close();
    EXPECT_TRUE(closed) << closed.error().message;
    const std::filesystem::path copy = folder_ / "after.db";
    disk.CopySynced(client.path(), copy);
    EmbeddedClient after(copy);
    ASSERT_TRUE(after.Open());
    EXPECT_EQ(after.Balance(acme), 7000);
    ASSERT_TRUE(after.Close());
    std::filesystem::remove(copy);
  }
}

// Fails if: strict commits are not synced.
TEST_F(EmbeddedTest, AStrictAnswerSurvivesAPowerLoss) {
  FaultyVfs disk("disk");
  ASSERT_TRUE(client_.Open({.durability = Durability::kStrict, .vfs = disk.name()}));
  const TargetPtr acme = StillTarget("acme", 10);
  ASSERT_TRUE(client_.Acquire({Take(acme, 3)})->admitted);
  disk.CopySynced(client_.path(), folder_ / "after.db");
  EmbeddedClient after(folder_ / "after.db");
  ASSERT_TRUE(after.Open());
  EXPECT_EQ(after.Balance(acme), 7000);
  EXPECT_TRUE(client_.Close());
}

// Fails if: changes of settings are synced only as relaxed decisions are.
TEST_F(EmbeddedTest, LimitsSurviveAPowerLossAlsoWhereDecisionsNeedNot) {
  FaultyVfs disk("disk");
  ASSERT_TRUE(client_.Open({.vfs = disk.name()}));
  ASSERT_TRUE(client_.Apply({PutLimits{Level::System(), {.limits = {{"rpm", PerMinute(5)}}}}}));
  disk.CopySynced(client_.path(), folder_ / "after.db");
  EXPECT_THAT(RunSql(folder_ / "after.db", "SELECT kind, limits FROM level"),
              ElementsAre("system|{\"rpm\":[5000,5000,60000]}"));
  EXPECT_TRUE(client_.Close());
}

TEST_F(EmbeddedTest, ARelaxedCommitWaitsForNoDisk) {
  FaultyVfs disk("disk");
  ASSERT_TRUE(client_.Open({.vfs = disk.name()}));
  ASSERT_TRUE(client_.Acquire({Take(StillTarget("acme"), 3)})->admitted);
  client_.Commit();  // the first one begins a write-ahead log
  const std::uint64_t before = disk.syncs();
  ASSERT_TRUE(client_.Acquire({Take(StillTarget("acme"), 3)})->admitted);
  client_.Commit();
  EXPECT_EQ(disk.syncs(), before);
  EXPECT_TRUE(client_.Close());
}

TEST_F(EmbeddedTest, KeepsLimitsAndEntitiesAcrossARestartAndAKill) {
  const LevelLimits system{.limits = {{"rpm", PerMinute(100)}, {"tpm", PerHour(5).Burst(9)}},
                           .on_unavailable = OnUnavailable::kAllow,
                           .managed = true};
  const LevelLimits own{.limits = {{"rpm", PerMinute(7)}}};
  const Entity acme{.id = "acme",
                    .name = "Acme \"& Sons\"",
                    .parent = "globex",
                    .cascade = true,
                    .metadata = {{"plan", "gold \\ \"1\""}, {"r\u00e9gion", ""}},
                    .created_at = {17}};
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Apply(
      {PutLimits{Level::System(), system}, PutLimits{Level::Entity("acme", "gpt-4"), own},
       PutLimits{Level::EntityDefault("acme"), own}, PutLimits{Level::Resource("gpt-4"), own},
       CreateEntity{{.entity = acme, .managed = true}},
       CreateEntity{{.entity = {.id = "globex"}}}}));
  const auto check = [&](EmbeddedClient& client) {
    client.backend().config().GetLimits(
        std::vector{Level::System(), Level::Entity("acme", "gpt-4"), Level::EntityDefault("acme"),
                    Level::Resource("gpt-4"), Level::Resource("gpt-5")},
        Deadline::Never(), [&](Result<std::vector<std::optional<LevelLimits>>> found) {
          EXPECT_THAT(*found, ElementsAre(system, own, own, own, std::nullopt));
        });
    client.backend().config().GetEntities(
        std::vector<std::string>{"acme", "globex"}, Deadline::Never(),
        [&](Result<std::vector<std::optional<EntityRecord>>> found) {
          EXPECT_EQ(found->at(0), (EntityRecord{.entity = acme, .managed = true}));
          EXPECT_EQ(found->at(1)->entity.parent, std::nullopt);
        });
  };
  EmbeddedClient killed(client_.CopyAsKilled());
  ASSERT_TRUE(killed.Open());
  check(killed);
  ASSERT_TRUE(client_.Close());
  ASSERT_TRUE(client_.Open());
  check(client_);

  ASSERT_TRUE(client_.Apply({DeleteEntity{"acme"}, DeleteLimits{Level::System()}}));
  ASSERT_TRUE(client_.Close());
  EXPECT_THAT(RunSql(client_.path(), "SELECT kind, resource FROM level"),
              ElementsAre("resource|gpt-4"));
  EXPECT_THAT(RunSql(client_.path(), "SELECT id FROM entity"), ElementsAre("globex"));
}

TEST_F(EmbeddedTest, ADeletedEntityTakesItsBucketsOutOfTheFileAtOnce) {
  const TargetPtr acme = StillTarget("acme", 10);
  const TargetPtr globex = StillTarget("globex", 10);
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(acme, 3), Take(globex, 3)})->admitted);
  ASSERT_TRUE(client_.Apply({DeleteEntity{"acme"}}));
  EmbeddedClient killed(client_.CopyAsKilled());
  ASSERT_TRUE(killed.Open());
  EXPECT_EQ(killed.Read(acme->key), std::nullopt);
  EXPECT_EQ(killed.Balance(globex), 7000);
  ASSERT_TRUE(client_.Close());
  EXPECT_THAT(RunSql(client_.path(), "SELECT entity FROM bucket"), ElementsAre("globex"));
}

TEST_F(EmbeddedTest, IdleBucketsLeaveMemoryAndFile) {
  const TargetPtr idle = MakeTarget({"idle", "gpt-4", 0}, {{"rpm", PerSecond(10)}});
  const TargetPtr busy = StillTarget("busy");
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(idle, 5)})->admitted);
  ASSERT_TRUE(client_.scheduler().RunAll());
  client_.scheduler().Advance(std::chrono::minutes(5));
  ASSERT_TRUE(client_.Acquire({Take(busy, 1)})->admitted);
  ASSERT_TRUE(client_.scheduler().RunAll());
  EXPECT_EQ(client_.List().size(), 1U);
  ASSERT_TRUE(client_.Close());
  EXPECT_THAT(RunSql(client_.path(), "SELECT entity FROM bucket"), ElementsAre("busy"));
}

// Fails if: a refused command returns a wait, but leaves the bucket at its old rate.
TEST_F(EmbeddedTest, C2TheLimitsOfARefusedCommandHoldForTheNextOne) {
  const TargetPtr daily = StillTarget("acme", 10);
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(daily, 10)})->admitted);
  const TargetPtr raised = MakeTarget(daily->key, {{"rpm", PerSecond(10)}});
  ASSERT_TRUE(client_.Close());
  ASSERT_TRUE(client_.Open());
  const auto refused = client_.Acquire({Take(raised, 1)});
  ASSERT_TRUE(refused && !refused->admitted);
  ASSERT_TRUE(client_.Close());
  client_.scheduler().Advance(refused->retry_after);
  ASSERT_TRUE(client_.Open());
  EXPECT_TRUE(client_.Acquire({Take(raised, 1)})->admitted);
}

// Fails if: the change that a refusal makes stays in memory until a request is admitted.
TEST_F(EmbeddedTest, C2TheLimitsOfARefusalAreCommitted) {
  const TargetPtr acme = StillTarget("acme", 10);
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(acme, 10)})->admitted);
  client_.Commit();
  const Quota raised = PerSecond(10);
  ASSERT_FALSE(client_.Acquire({Take(MakeTarget(acme->key, {{"rpm", raised}}), 1)})->admitted);
  client_.Commit();
  EmbeddedClient after(client_.CopyAsKilled());
  ASSERT_TRUE(after.Open());
  EXPECT_EQ(after.Read(acme->key)->bucket.meters[0].quota, raised);
}

TEST_F(EmbeddedTest, ACleanStopLeavesOneFile) {
  ASSERT_TRUE(client_.Open());
  EXPECT_TRUE(FileExists(client_.path() + "-lock"));
  ASSERT_TRUE(client_.Acquire({Take(StillTarget("acme"), 3)})->admitted);
  ASSERT_TRUE(client_.Close());
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(client_.path()).parent_path())) {
    names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names, ElementsAre("weir.db"));
}

TEST_F(EmbeddedTest, APersonCanReadTheFile) {
  const TargetPtr acme =
      MakeTarget({"acme", "gpt-4", 0}, {{"rpm", PerMinute(100)}, {"tpm", PerHour(5000).Burst(8)}});
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Charge{acme, {1500, 0}}})->admitted);
  client_.Commit();
  const std::string killed = client_.CopyAsKilled();
  ASSERT_TRUE(client_.Close());
  const auto rows =
      ElementsAre("acme|gpt-4|0|rpm|98.5|100.0|100.0|60.0|1.5|2026-01-01T00:00:00.013Z|1",
                  "acme|gpt-4|0|tpm|8.0|8.0|5000.0|3600.0|0.0|2026-01-01T00:00:00.013Z|1");
  EXPECT_THAT(RunSql(client_.path(), "SELECT * FROM limits_view"), rows);
  EXPECT_THAT(RunSql(killed, "SELECT * FROM limits_view"), rows) << "what is in the log counts";
}

// Fails if: the view shows the state of a bucket in the table although the log has a newer one, or
// shows a bucket whose latest change is its removal.
TEST_F(EmbeddedTest, TheViewPutsTheLogOverTheTable) {
  const TargetPtr acme = StillTarget("acme", 10);
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(acme, 1), Take(StillTarget("globex", 10), 1)})->admitted);
  ASSERT_TRUE(client_.scheduler().RunAll()) << "folded";
  ASSERT_TRUE(client_.Acquire({Take(acme, 1)})->admitted);
  client_.Commit();
  ASSERT_TRUE(client_.Acquire({Take(acme, 1)})->admitted);
  client_.Commit();
  ASSERT_TRUE(client_.Apply({DeleteEntity{"globex"}}));
  const std::string killed = client_.CopyAsKilled();
  EXPECT_THAT(RunSql(killed, "SELECT count(*) FROM bucket"), ElementsAre("2"));
  EXPECT_THAT(RunSql(killed, "SELECT entity, tokens FROM limits_view"), ElementsAre("acme|7.0"));
}

TEST_F(EmbeddedTest, OneProcessOwnsAFile) {
  ASSERT_TRUE(client_.Open());
  EmbeddedClient second(client_.path());
  const Status refused = second.Open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr(client_.path() + ": in use by process"),
                    HasSubstr(fmt::format("process {} since 2026-01-01T00:00:00Z", getpid())),
                    HasSubstr("stop it or use another file")));
  ASSERT_TRUE(client_.Close());
  EXPECT_TRUE(second.Open());
}

TEST_F(EmbeddedTest, AnotherNameForTheFileDoesNotLetASecondOwnerIn) {
  ASSERT_TRUE(client_.Open());
  std::filesystem::create_symlink(client_.path(), folder_ / "alias.db");
  EmbeddedClient second(folder_ / "alias.db");
  const Status refused = second.Open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("in use by process"));
}

// Fails if: a bucket that only had limits of requests cannot be read again once they are full.
TEST_F(EmbeddedTest, ABucketWhoseLastLimitLeftIsReadAsFull) {
  ASSERT_TRUE(client_.Open());
  const TargetPtr once = MakeTarget({"acme", "llm"}, {Still("burst", 10)}, LimitSource::kOverride);
  ASSERT_TRUE(client_.Acquire({Take(once, 5)}));
  ASSERT_TRUE(client_.Adjust({Take(once, -5)}));
  ASSERT_TRUE(client_.Acquire({Take(StillTarget("globex", 10), 4)}));
  client_.Commit();
  EmbeddedClient killed(client_.CopyAsKilled());
  ASSERT_TRUE(client_.Close());
  for (EmbeddedClient* after : {&client_, &killed}) {
    const Status opened = after->Open();
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(after->Balance(StillTarget("globex", 10)), 6000);
    EXPECT_TRUE(after->Acquire({Take(once, 10)})->admitted);
  }
}

// The target is on a volume that is not mounted. Fails if: a link that the backend did not create
// is removed.
TEST_F(EmbeddedTest, ALinkThatLeadsNowhereStays) {
  const std::string link = folder_ / "link.db";
  for (const std::string& target : {folder_ / "unmounted/weir.db", link}) {
    std::filesystem::create_symlink(target, link);
    EmbeddedClient client(link);
    EXPECT_FALSE(client.Open());
    EXPECT_TRUE(std::filesystem::is_symlink(link)) << target;
    std::filesystem::remove(link);
  }
}

// Fails if: the file is migrated before its other owner is noticed, or a reader opens it without
// the commits of that owner.
TEST_F(EmbeddedTest, AHardLinkIsNotReadPastItsOwner) {
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(StillTarget("acme", 10), 4)}));
  client_.Commit();
  const std::string other = folder_ / "other.db";
  std::filesystem::create_hard_link(client_.path(), other);
  const SystemClock clock;
  const auto reader = OpenToRead(other, clock, {.buckets = true, .namespace_name = "", .vfs = ""});
  ASSERT_FALSE(reader);
  EXPECT_THAT(reader.error().message, testing::HasSubstr("under another name of the file"));
}

// Fails if: only the name of a file is locked.
TEST_F(EmbeddedTest, AHardLinkToTheFileDoesNotLetASecondOwnerIn) {
  ASSERT_TRUE(client_.Open());
  std::filesystem::create_hard_link(client_.path(), folder_ / "link.db");
  EmbeddedClient second(folder_ / "link.db");
  const Status refused = second.Open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("under another name of the file"));
}

// Fails if: decisions are counted in a file that the next start does not find.
TEST_F(EmbeddedTest, AFileThatWasMovedFailsItsCommitsUntilItIsBack) {
  const TargetPtr acme = StillTarget("acme", 10);
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(acme, 1)})->admitted);
  client_.Commit();
  std::filesystem::rename(client_.path(), folder_ / "moved.db");
  ASSERT_TRUE(client_.Acquire({Take(acme, 2)})->admitted);
  while (client_.backend().stats().commit_failures == 0 && client_.scheduler().RunNext()) continue;
  const auto refused = client_.Acquire({Take(acme, 1)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_THAT(refused.error().message,
              HasSubstr(client_.path() + ": was deleted, moved or replaced"));
  EXPECT_EQ(std::filesystem::file_size(client_.path() + "-wal"), 0U)
      << "it would be applied to a file that is put in its place";
  std::filesystem::rename(folder_ / "moved.db", client_.path());
  client_.Commit();
  EXPECT_TRUE(client_.Acquire({Take(acme, 1)})->admitted);
  ASSERT_TRUE(client_.Close());
  ASSERT_TRUE(client_.Open());
  EXPECT_EQ(client_.Balance(acme), 6000);
}

// Fails if: commits go to a log that the next start does not find, or earlier commits are lost
// with it.
TEST_F(EmbeddedTest, ALogThatWasDeletedFailsCommitsAndTakesNoneWithIt) {
  for (const bool has_index : {true, false}) {
    SCOPED_TRACE(has_index ? "the index stays" : "the index is deleted, too");
    const TargetPtr acme = StillTarget(has_index ? "acme" : "globex", 10);
    ASSERT_TRUE(client_.Open());
    ASSERT_TRUE(client_.Acquire({Take(acme, 1)})->admitted);
    client_.Commit();
    std::filesystem::rename(client_.path(), folder_ / "aside.db");
    std::filesystem::remove(client_.path() + "-wal");
    if (!has_index) std::filesystem::remove(client_.path() + "-shm");
    std::filesystem::rename(folder_ / "aside.db", client_.path());
    ASSERT_TRUE(client_.Acquire({Take(acme, 2)})->admitted);
    while (client_.backend().stats().commit_failures == 0 && client_.scheduler().RunNext())
      continue;
    const auto refused = client_.Acquire({Take(acme, 1)});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kUnavailable);
    EXPECT_THAT(refused.error().message,
                HasSubstr(client_.path() + "-wal: was deleted, moved or replaced"));
    EmbeddedClient killed(client_.CopyAsKilled());
    ASSERT_TRUE(killed.Open());
    EXPECT_EQ(killed.Balance(acme), 9000);
    EXPECT_FALSE(client_.Close()) << "the last change is in no file";
    ASSERT_TRUE(client_.Open());
    EXPECT_EQ(client_.Balance(acme), 9000);
    EXPECT_TRUE(client_.Close());
  }
}

// A file that a kill left with a log. Fails if: the log is known only from the first commit on.
TEST_F(EmbeddedTest, ALogThatIsDeletedBeforeTheFirstCommitFailsIt) {
  const TargetPtr acme = StillTarget("acme", 10);
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(acme, 1)})->admitted);
  client_.Commit();
  EmbeddedClient second(client_.CopyAsKilled());
  ASSERT_TRUE(second.Open());
  std::filesystem::remove(second.path() + "-wal");
  ASSERT_TRUE(second.Acquire({Take(acme, 2)})->admitted);
  while (second.backend().stats().commit_failures == 0 && second.scheduler().RunNext()) continue;
  EmbeddedClient killed(second.CopyAsKilled());
  ASSERT_TRUE(killed.Open());
  EXPECT_EQ(killed.Balance(acme), 9000);
}

TEST_F(EmbeddedTest, ALogThatWasMovedFailsCommitsUntilItIsBack) {
  const TargetPtr acme = StillTarget("acme", 10);
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(acme, 1)})->admitted);
  client_.Commit();
  std::filesystem::rename(client_.path() + "-wal", folder_ / "moved-wal");
  ASSERT_TRUE(client_.Acquire({Take(acme, 2)})->admitted);
  while (client_.backend().stats().commit_failures == 0 && client_.scheduler().RunNext()) continue;
  std::filesystem::rename(folder_ / "moved-wal", client_.path() + "-wal");
  client_.Commit();
  EXPECT_TRUE(client_.Acquire({Take(acme, 1)})->admitted);
  EXPECT_TRUE(client_.Close());
  ASSERT_TRUE(client_.Open());
  EXPECT_EQ(client_.Balance(acme), 6000);
}

// Fails if: a setting that is tried again writes the pages of the deleted log into the file, whose
// log is that of another process now.
TEST_F(EmbeddedTest, SettingsDoNotMixTheFileWithTheLogOfAnotherProcess) {
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(StillTarget("acme", 10), 1)})->admitted);
  client_.Commit();
  std::filesystem::remove(client_.path() + "-wal");
  WriteFile(client_.path() + "-wal", "commits of another process");
  const std::string before = ReadFile(client_.path());
  for (int i = 0; i < 3; ++i) {
    const Status created = client_.Apply({CreateEntity{{.entity = {.id = "acme"}}}});
    ASSERT_FALSE(created);
    EXPECT_THAT(created.error().message,
                HasSubstr(client_.path() + "-wal: was deleted, moved or replaced"));
    EXPECT_TRUE(ReadFile(client_.path()) == before) << i;
  }
  EXPECT_EQ(ReadFile(client_.path() + "-wal"), "commits of another process");
}

// Fails if: closing reports success although the next start does not find the file.
TEST_F(EmbeddedTest, ClosingAFileThatIsNotInPlaceIsAnError) {
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(StillTarget("acme", 10), 1)})->admitted);
  client_.scheduler().RunAll();
  std::filesystem::rename(client_.path(), folder_ / "moved.db");
  const Status closed = client_.Close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, Code::kUnavailable);
  EXPECT_THAT(closed.error().message,
              HasSubstr(client_.path() + ": was deleted, moved or replaced"));
  EXPECT_EQ(std::filesystem::file_size(client_.path() + "-wal"), 0U);
  EmbeddedClient moved(folder_ / "moved.db");
  ASSERT_TRUE(moved.Open());
  EXPECT_EQ(moved.Balance(StillTarget("acme", 10)), 9000);
}

class DisplacedFile : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(owner_.Execute("PRAGMA journal_mode = WAL; CREATE TABLE t(x)"));
    ASSERT_TRUE(Write());
  }
  Status Write() {
    return owner_.InTransaction([&] { return owner_.Execute("INSERT INTO t VALUES(1)"); });
  }
  std::uintmax_t LogSize() const { return std::filesystem::file_size(log_); }

  TempFolder folder_;
  const std::string path_ = folder_ / "t.db";
  const std::string log_ = path_ + "-wal";
  sqlite::Connection owner_ = *sqlite::Connection::Open(path_, "");
};

// Fails if: the log stays full because a reader used it when the move was noticed.
TEST_F(DisplacedFile, ItsLogIsEmptiedWhenTheReaderHasEnded) {
  auto reader = *sqlite::Connection::Open(path_, "");
  ASSERT_TRUE(reader.Execute("BEGIN; SELECT * FROM t"));
  ASSERT_TRUE(Write());
  std::filesystem::rename(path_, folder_ / "moved.db");
  const Status failed = Write();
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message,
              AllOf(HasSubstr("was deleted, moved or replaced"),
                    HasSubstr("its write-ahead log cannot be emptied"), HasSubstr("is locked")));
  EXPECT_GT(LogSize(), 0U);
  ASSERT_TRUE(reader.Execute("COMMIT"));
  const Status again = Write();
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, Not(HasSubstr("cannot be emptied")));
  EXPECT_EQ(LogSize(), 0U);
}

// Fails if: the owner of a file that was moved empties the log of the file in its place.
TEST_F(DisplacedFile, ItsLogIsLeftAloneOnceItIsEmpty) {
  std::filesystem::rename(path_, folder_ / "moved.db");
  ASSERT_FALSE(Write());
  ASSERT_EQ(LogSize(), 0U);
  WriteFile(log_, "commits of another process");
  EXPECT_FALSE(Write());
  EXPECT_FALSE(owner_.Close());
  EXPECT_EQ(ReadFile(log_), "commits of another process");
}

// Fails if: pages of two logs are mixed in one file, or the other log is deleted.
TEST_F(DisplacedFile, ALogThatTookThePlaceOfItsLogIsLeftAlone) {
  std::filesystem::remove(log_);
  WriteFile(log_, "commits of another process");
  const std::string before = ReadFile(path_);
  EXPECT_FALSE(Write());
  EXPECT_FALSE(owner_.Close());
  EXPECT_EQ(ReadFile(path_), before);
  EXPECT_EQ(ReadFile(log_), "commits of another process");
}

// Fails if: a file is taken for moved because its path cannot be looked up for a while.
TEST_F(EmbeddedTest, AFileWhosePathCannotBeLookedUpIsStillWritten) {
  const TargetPtr acme = StillTarget("acme", 10);
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(acme, 1)})->admitted);
  client_.Commit();
  const std::filesystem::path folder = std::filesystem::path(client_.path()).parent_path();
  const std::filesystem::path aside = folder.string() + ".aside";
  std::filesystem::rename(folder, aside);
  std::filesystem::create_symlink(folder, folder);  // stat fails with ELOOP
  ASSERT_TRUE(client_.Acquire({Take(acme, 2)})->admitted);
  client_.Commit();
  EXPECT_EQ(client_.backend().stats().commit_failures, 0U);
  std::filesystem::remove(folder);
  std::filesystem::rename(aside, folder);
  ASSERT_TRUE(client_.Close());
  ASSERT_TRUE(client_.Open());
  EXPECT_EQ(client_.Balance(acme), 7000);
}

// Fails if: a file that was opened by a relative path is looked up in another working directory.
TEST_F(EmbeddedTest, AFileWithARelativePathIsWrittenFromAnotherDirectory) {
  const std::filesystem::path before = std::filesystem::current_path();
  const std::filesystem::path folder = std::filesystem::path(client_.path()).parent_path();
  std::filesystem::current_path(folder);
  EmbeddedClient relative("relative.db");
  ASSERT_TRUE(relative.Open());
  std::filesystem::current_path(before);
  ASSERT_TRUE(relative.Acquire({Take(StillTarget("acme", 10), 1)})->admitted);
  relative.Commit();
  EXPECT_EQ(relative.backend().stats().commit_failures, 0U);
  std::filesystem::current_path(folder);
  EXPECT_TRUE(relative.Close());
  std::filesystem::current_path(before);
}

// Fails if: the owner of a deleted file removes the lock or the write-ahead log of its successor.
TEST_F(EmbeddedTest, TheOwnerOfADeletedFileLeavesItsSuccessorAlone) {
  const TargetPtr acme = StillTarget("acme", 10);
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(acme, 1)})->admitted);
  for (const std::string suffix : {"", "-wal", "-shm", "-lock"}) {
    std::filesystem::remove(client_.path() + suffix);
  }
  EmbeddedClient successor(client_.path());
  ASSERT_TRUE(successor.Open());
  ASSERT_TRUE(successor.Acquire({Take(acme, 4)})->admitted);
  successor.Commit();
  EXPECT_FALSE(client_.Close()) << "the change is in no file";
  EmbeddedClient killed(successor.CopyAsKilled());
  ASSERT_TRUE(killed.Open());
  EXPECT_EQ(killed.Balance(acme), 6000);
  const Status refused = EmbeddedClient(client_.path()).Open();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("in use by process"));
}

TEST_F(EmbeddedTest, U15WhatIsNoRegularFileIsRefusedAndNothingIsLeftBesideIt) {
  std::filesystem::create_directory(folder_ / "folder");
  std::filesystem::create_symlink("/dev/null", folder_ / "null");
  for (const char* const name : {"folder", "null"}) {
    EmbeddedClient client(folder_ / name);
    const Status refused = client.Open();
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(refused.error().message, HasSubstr("not a regular file"));
  }
  EXPECT_FALSE(FileExists("/dev/null-lock"));
  EXPECT_FALSE(FileExists("/dev/null-journal"));
}

TEST_F(EmbeddedTest, RefusesAFileOfANewerWeirAndLeavesIt) {
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Close());
  RunSql(client_.path(), "PRAGMA user_version = 99");
  const std::string before = ReadFile(client_.path());
  const Status refused = client_.Open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  const std::string newest = fmt::format("up to {}", Migrations().back().version);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("version 99"), HasSubstr(newest)));
  EXPECT_EQ(ReadFile(client_.path()), before);
  EXPECT_FALSE(FileExists(client_.path() + "-wal"));
  EXPECT_FALSE(FileExists(client_.path() + "-lock"));
}

// Fails if: closing moves the write-ahead log of a newer weir into the file.
TEST_F(EmbeddedTest, LeavesTheWriteAheadLogOfANewerWeirToIt) {
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Close());
  RunSql(client_.path(),
         "PRAGMA journal_mode = DELETE; PRAGMA user_version = 9;"
         "PRAGMA journal_mode = WAL");
  sqlite3* newer = nullptr;
  ASSERT_EQ(sqlite3_open(client_.path().c_str(), &newer), SQLITE_OK);
  sqlite3_exec(newer, "CREATE TABLE region(name)", nullptr, nullptr, nullptr);
  const std::string copy = client_.CopyAsKilled();
  sqlite3_close(newer);
  const std::string file = ReadFile(copy);
  const std::string wal = ReadFile(copy + "-wal");
  ASSERT_FALSE(wal.empty());
  EXPECT_FALSE(EmbeddedClient(copy).Open());
  EXPECT_EQ(ReadFile(copy), file);
  EXPECT_EQ(ReadFile(copy + "-wal"), wal);
}

TEST_F(EmbeddedTest, RefusesWhatIsNoWeirFileAndLeavesIt) {
  const std::string text = "# limits\nsystem: rpm:100\n" + std::string(5000, 'x');
  WriteFile(client_.path(), text);
  const Status refused = client_.Open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().message, HasSubstr("not a weir file"));
  EXPECT_EQ(ReadFile(client_.path()), text);
}

TEST_F(EmbeddedTest, AnEmptyFileBecomesAWeirFile) {
  WriteFile(client_.path(), "");
  EXPECT_TRUE(client_.Open());
}

TEST_F(EmbeddedTest, AFolderThatIsMissingIsNamed) {
  EmbeddedClient lost(folder_ / "missing/weir.db");
  const Status refused = lost.Open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kNotFound);
  EXPECT_THAT(refused.error().message, HasSubstr("missing/weir.db"));
}

TEST_F(EmbeddedTest, AFileThatCanOnlyBeReadIsRefusedAndLeft) {
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Close());
  const std::string before = ReadFile(client_.path());
  FaultyVfs disk("disk");
  disk.MakeReadOnly();
  const Status refused = client_.Open({.vfs = disk.name()});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
  EXPECT_THAT(refused.error().message, HasSubstr("can only be read"));
  EXPECT_EQ(ReadFile(client_.path()), before);
}

class DamageTest : public EmbeddedTest {
 protected:
  // Makes a file of several pages.
  void SetUp() override {
    ASSERT_TRUE(client_.Open());
    for (int i = 0; i < 300; ++i) {
      ASSERT_TRUE(client_.Acquire({Take(StillTarget(fmt::format("acme-{}", i)), 1)})->admitted);
    }
    ASSERT_TRUE(client_.Close());
  }

  void ExpectDamaged(const std::string& what) {
    const std::string before = ReadFile(client_.path());
    const Status refused = client_.Open();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kDataLoss) << refused.error().message;
    EXPECT_THAT(refused.error().message,
                AllOf(HasSubstr(client_.path()), HasSubstr(what), HasSubstr("weir store repair")));
    EXPECT_EQ(ReadFile(client_.path()), before);
  }
};

TEST_F(DamageTest, ATruncatedFileIsDataLoss) {
  const std::string whole = ReadFile(client_.path());
  WriteFile(client_.path(), whole.substr(0, whole.size() / 2));
  ExpectDamaged("malformed");
}

TEST_F(DamageTest, AnOverwrittenPageIsDataLoss) {
  std::string content = ReadFile(client_.path());
  // Page 2 is the root of the buckets.
  content.replace(4096, 4096, std::string(4096, '\x5a'));
  WriteFile(client_.path(), content);
  ExpectDamaged("malformed");
}

TEST_F(EmbeddedTest, NamesItselfAsPeopleDo) {
  ASSERT_TRUE(client_.Open());
  EXPECT_EQ(client_.backend().Describe(), "sqlite:" + client_.path());
}

}  // namespace
}  // namespace weir
