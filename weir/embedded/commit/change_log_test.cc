#include "weir/embedded/commit/change_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "weir/embedded/file/schema.h"
#include "weir/embedded/rows/bucket_reader.h"
#include "weir/embedded/testing/embedded_fixture.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class ChangeLogTest : public testing::Test {
 protected:
  static sqlite::Connection OpenNew(const std::string& path) {
    auto connection = sqlite::Connection::Open(path, "");
    EXPECT_TRUE(connection && PrepareSchema(*connection));
    return *std::move(connection);
  }

  void TakeOne(const TargetPtr& target) {
    const std::vector<Charge> charges = {Take(target, 1)};
    EXPECT_TRUE(table_.Acquire(charges, kNow)->admitted);
  }

  // Commits the changes of the table, as the committer does.
  void Commit() {
    table_.DrainChanges([&](const BucketKey& key, const BucketState* state, std::uint32_t& mark) {
      log_.Add(key, state, mark);
    });
    EXPECT_TRUE(log_.Append());
  }

  // Returns the tokens of each entity in the log, as a process that opens the file reads it; -1:
  // removed.
  std::map<std::string, std::int64_t> ReadLog() {
    std::map<std::string, std::int64_t> tokens;
    BucketReader reader;
    auto log = ChangeLog::Open(connection_);
    DamageReport damage;
    const auto index = log->Read(damage);
    EXPECT_TRUE(index);
    for (const auto& [key, latest] : index->map()) {
      BucketRecord record;
      tokens[key.entity] = -1;
      if (!latest.time) continue;
      EXPECT_TRUE(reader.ReadLimits(latest.limits, record));
      tokens[key.entity] = record.bucket.meters[0].tokens / kMillitokens;
    }
    return tokens;
  }

  std::vector<std::string> Rows() { return RunSql(path_, "SELECT entity FROM bucket"); }

  TempFolder folder_;
  std::string path_ = folder_ / "weir.db";
  sqlite::Connection connection_ = OpenNew(path_);
  ChangeLog log_ = *ChangeLog::Open(connection_);
  BucketTable table_{{.track_changes = true}};
  const TargetPtr acme_ = StillTarget("acme", 10);
  const TargetPtr globex_ = StillTarget("globex", 10);
};

using Tokens = std::map<std::string, std::int64_t>;

TEST_F(ChangeLogTest, TheLatestChangeCounts) {
  TakeOne(acme_);
  TakeOne(globex_);
  Commit();
  TakeOne(acme_);
  Commit();
  EXPECT_EQ(ReadLog(), (Tokens{{"acme", 8}, {"globex", 9}}));
}

// Fails if: a bucket that left the table is not written as removed.
TEST_F(ChangeLogTest, ABucketThatLeftIsRemoved) {
  TakeOne(acme_);
  Commit();
  table_.EraseEntity("acme");
  Commit();
  EXPECT_EQ(ReadLog(), (Tokens{{"acme", -1}}));
}

TEST_F(ChangeLogTest, ABucketThatCameBackIsThere) {
  TakeOne(acme_);
  Commit();
  table_.EraseEntity("acme");
  TakeOne(acme_);
  Commit();
  EXPECT_EQ(ReadLog(), (Tokens{{"acme", 9}}));
}

TEST_F(ChangeLogTest, NothingGatheredWritesNothing) {
  EXPECT_EQ(log_.Append()->buckets, 0U);
  EXPECT_EQ(log_.bytes(), 0U);
  EXPECT_THAT(RunSql(path_, "SELECT * FROM change"), IsEmpty());
}

TEST_F(ChangeLogTest, AFoldMovesTheLogIntoTheTableStepByStep) {
  TakeOne(acme_);
  TakeOne(globex_);
  Commit();
  EXPECT_TRUE(log_.FoldSome(table_, 0));
  EXPECT_THAT(Rows(), ElementsAre("acme", "globex")) << "in the order of the index";
  EXPECT_EQ(ReadLog(), (Tokens{{"acme", 9}, {"globex", 9}})) << "and still in the log";
  EXPECT_TRUE(log_.folding());
  EXPECT_TRUE(log_.FoldSome(table_, 0));
  EXPECT_EQ(ReadLog(), Tokens{});
  EXPECT_EQ(log_.bytes(), 0U);
  EXPECT_FALSE(log_.folding());
}

// Fails if: changes that are committed during a fold are deleted with the folded rows, or are not
// noted for the next fold.
TEST_F(ChangeLogTest, AFoldLeavesWhatCameAfterItBegan) {
  TakeOne(acme_);
  Commit();
  EXPECT_TRUE(log_.FoldSome(table_, 0));
  TakeOne(acme_);
  TakeOne(globex_);
  Commit();
  EXPECT_TRUE(log_.FoldSome(table_, 0));
  EXPECT_FALSE(log_.folding());
  EXPECT_EQ(ReadLog(), (Tokens{{"acme", 8}, {"globex", 9}}));
  while (log_.bytes() > 0) EXPECT_TRUE(log_.FoldSome(table_, 0));
  EXPECT_THAT(RunSql(path_, "SELECT entity, tokens FROM limits_view"),
              UnorderedElementsAre("acme|8.0", "globex|9.0"));
}

TEST_F(ChangeLogTest, AFoldRemovesTheRowsOfBucketsThatLeft) {
  TakeOne(acme_);
  Commit();
  while (log_.bytes() > 0) EXPECT_TRUE(log_.FoldSome(table_, 0));
  EXPECT_THAT(Rows(), ElementsAre("acme"));
  table_.EraseEntity("acme");
  Commit();
  while (log_.bytes() > 0) EXPECT_TRUE(log_.FoldSome(table_, 0));
  EXPECT_THAT(Rows(), IsEmpty());
}

// Fails if: the last step of a fold writes to the log of a file that was moved. SQLite would apply
// this log to the file that is put in its place.
TEST_F(EmbeddedTest, AFoldLeavesTheLogOfAMovedFileEmpty) {
  ASSERT_TRUE(client_.Open({.fold_bytes = 50}));
  ASSERT_TRUE(client_.Acquire({Take(StillTarget("acme"), 1)}));
  ASSERT_TRUE(client_.scheduler().RunNext());  // the commit, and the first step of the fold
  std::filesystem::rename(client_.path(), folder_ / "moved.db");
  EXPECT_FALSE(client_.Apply({CreateEntity{{.entity = {.id = "late"}}}}));
  client_.scheduler().Advance(std::chrono::seconds(5));
  EXPECT_EQ(std::filesystem::file_size(client_.path() + "-wal"), 0U);
  std::filesystem::rename(folder_ / "moved.db", client_.path());
  client_.scheduler().Advance(std::chrono::seconds(10));
  EXPECT_TRUE(client_.Close());
  EXPECT_THAT(RunSql(client_.path(), "SELECT * FROM change"), IsEmpty());
}

TEST_F(ChangeLogTest, GoesOnWithALogThatIsThere) {
  TakeOne(acme_);
  Commit();
  ChangeLog second = *ChangeLog::Open(connection_);
  DamageReport damage;
  ASSERT_TRUE(second.Read(damage));
  EXPECT_EQ(second.bytes(), log_.bytes());
  std::uint32_t mark = 0;
  second.Add(globex_->key, nullptr, mark);
  EXPECT_TRUE(second.Append());
  EXPECT_EQ(ReadLog(), (Tokens{{"acme", 9}, {"globex", -1}}));
  while (second.bytes() > 0) EXPECT_TRUE(second.FoldSome(table_, 0));
  EXPECT_THAT(Rows(), ElementsAre("acme"));
}

}  // namespace
}  // namespace weir
