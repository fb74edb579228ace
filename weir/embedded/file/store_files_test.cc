// Tests check, backup and repair of files: damaged rows, damaged pages, truncation.
#include "weir/embedded/file/store_files.h"
#include "weir/embedded/file/file_backup.h"
#include "weir/embedded/file/file_check.h"
#include "weir/embedded/file/file_repair.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <utility>

#include "weir/embedded/file/file_replace.h"
#include "weir/embedded/reading_backend.h"
#include "weir/embedded/testing/embedded_fixture.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;

constexpr std::size_t kPage = 4096;

class StoreFilesTest : public EmbeddedTest {
 protected:
  static constexpr int kEntities = 120;

  // Fills several pages of all tables, and the log.
  void SetUp() override {
    ASSERT_TRUE(client_.Open());
    std::vector<ConfigChange> changes = {
        PutLimits{Level::Resource("gpt-4"), {.limits = {Still("rpm", 1000)}}}};
    for (int i = 0; i < kEntities; ++i) {
      changes.emplace_back(PutEntity{{.entity = {.id = Name(i), .metadata = {{"plan", "gold"}}}}});
    }
    changes.emplace_back(
        PutEntity{{.entity = {.id = "long", .metadata = {{"text", std::string(16'000, 'x')}}}}});
    ASSERT_TRUE(client_.Apply(std::move(changes)));
    Take100();
    ASSERT_TRUE(client_.Close());
    ASSERT_TRUE(client_.Open());
    ASSERT_TRUE(client_.Acquire({Take(StillTarget(Name(0)), 200)})->admitted);
    client_.Commit();
    killed_ = client_.CopyAsKilled();
    ASSERT_TRUE(client_.Close());
    whole_ = ReadFile(client_.path());
  }

  void Take100() {
    for (int i = 0; i < kEntities; ++i) {
      ASSERT_TRUE(client_.Acquire({Take(StillTarget(Name(i)), 100)})->admitted);
    }
  }
  static std::string Name(int i) { return fmt::format("acme-{:03}", i); }
  static UnixMillis now() { return {1'767'225'600'013}; }
  StoreFile file() const { return {.path = client_.path()}; }
  Result<FileRepair> Repair(const StoreFile& file) {
    return RepairFile(file, {.clock = client_.scheduler().clock()});
  }
  FileCheck Check(const std::string& path) {
    auto check = CheckFile({.path = path}, now());
    EXPECT_TRUE(check) << check.error().message;
    return check ? *std::move(check) : FileCheck();
  }
  // Returns the tokens of all buckets in a file, by entity.
  std::map<std::string, std::int64_t> TokensIn(const std::string& path) {
    EmbeddedClient client(path);
    const Status opened = client.Open();
    EXPECT_TRUE(opened) << opened.error().message;
    std::map<std::string, std::int64_t> tokens;
    if (!opened) return tokens;
    for (const BucketRecord& record : client.List()) {
      tokens[record.key.entity] = record.bucket.meters[0].tokens / kMillitokens;
    }
    EXPECT_TRUE(client.Close());
    return tokens;
  }
  std::size_t FilesInFolder() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }

  std::string killed_;  ///< path of the file as a kill left it, with a log
  std::string whole_;   ///< contents of the file after a clean stop
};

TEST_F(StoreFilesTest, U11ASoundFileIsSoundAndIsNotChanged) {
  const FileCheck check = Check(client_.path());
  EXPECT_TRUE(check.sound()) << check.damage.first().front();
  EXPECT_THAT(check.rows, Contains(Pair("bucket", kEntities)));
  EXPECT_THAT(check.rows, Contains(Pair("entity", kEntities + 1)));
  const auto repair = Repair(file());
  ASSERT_TRUE(repair) << repair.error().message;
  EXPECT_EQ(repair->kept_as, "");
  EXPECT_EQ(ReadFile(client_.path()), whole_);
}

// Fails if: the salvage misses a row that SQLite reads, or finds one that SQLite does not read,
// also in the write-ahead log.
TEST_F(StoreFilesTest, U11SalvageFindsWhatSqliteFinds) {
  for (const std::string& path : {client_.path(), killed_}) {
    const auto pages = sqlite::PageFile::Open(path);
    ASSERT_TRUE(pages);
    auto into = sqlite::Connection::Open(path + ".new", "");
    ASSERT_TRUE(into);
    const auto salvaged = Salvage(*pages, Migrations(), *into);
    ASSERT_TRUE(salvaged) << salvaged.error().message;
    EXPECT_EQ(salvaged->scan.unreadable, 0U);
    EXPECT_EQ(salvaged->scan.lost_records, 0U);
    EXPECT_EQ(salvaged->unknown, 0U);
    ASSERT_TRUE(into->Close());
    for (const auto& [table, rows] : salvaged->rows) {
      const std::string sql = fmt::format("SELECT * FROM \"{}\" ORDER BY 1, 2", table);
      EXPECT_EQ(RunSql(path + ".new", sql), RunSql(path, sql)) << table;
    }
  }
}

TEST_F(StoreFilesTest, U11NoTwoTablesOfAFileFitOneRecord) {
  for (const StoreFile::Kind kind :
       {StoreFile::Kind::kState, StoreFile::Kind::kNamespaces, StoreFile::Kind::kReservations}) {
    const StoreFile file{.path = folder_ / "shapes.db", .kind = kind};
    std::filesystem::remove(file.path);
    auto connection = sqlite::Connection::Open(file.path, "");
    ASSERT_TRUE(connection);
    ASSERT_TRUE(PrepareSchema(*connection, file.migrations()));
    const auto shapes = ShapesOf(*connection);
    ASSERT_TRUE(shapes);
    for (const TableShape& one : *shapes) {
      sqlite::Record record{.has_row_id = one.has_row_ids};
      for (const TableShape::Column& column : one.columns) {
        record.values.push_back(column.is_row_id ? sqlite::RecordValue()
                                : column.is_text ? sqlite::RecordValue(std::string("x"))
                                                 : sqlite::RecordValue(std::int64_t{1}));
      }
      for (const TableShape& other : *shapes) {
        EXPECT_EQ(other.Fits(record), one.table == other.table) << one.table << " " << other.table;
      }
    }
  }
}

TEST_F(StoreFilesTest, U11RepairLeavesOutTheRowsThatDoNotRead) {
  RunSql(client_.path(),
         "UPDATE entity SET metadata = '{' WHERE id = 'acme-001';"
         "UPDATE audit SET details = '{' WHERE subject = 'acme-002';"
         "UPDATE bucket SET limits = '{' WHERE entity = 'acme-003'");
  EXPECT_FALSE(Check(client_.path()).sound());
  const std::string damaged = ReadFile(client_.path());
  const auto repair = Repair(file());
  ASSERT_TRUE(repair) << repair.error().message;
  EXPECT_EQ(repair->damage.count(), 3U);
  EXPECT_EQ(repair->damage.count("audit"), 1U);
  EXPECT_EQ(repair->emptied_buckets, 0U);
  EXPECT_EQ(ReadFile(repair->kept_as), damaged);
  EXPECT_TRUE(Check(client_.path()).sound());
  const auto tokens = TokensIn(client_.path());
  EXPECT_EQ(tokens.at("acme-000"), 700);
  EXPECT_EQ(tokens.at("acme-003"), 0);
  EXPECT_EQ(tokens.at("acme-004"), 900);
}

TEST_F(StoreFilesTest, U11RepairOverwritesNothing) {
  WriteFile(client_.path() + "-damaged-1", "mine");
  WriteFile(client_.path() + "-repairing-1", "mine");
  RunSql(client_.path(), "UPDATE bucket SET limits = '{' WHERE entity = 'acme-003'");
  const auto repair = Repair(file());
  ASSERT_TRUE(repair) << repair.error().message;
  EXPECT_EQ(repair->kept_as, client_.path() + "-damaged-2");
  EXPECT_EQ(ReadFile(client_.path() + "-damaged-1"), "mine");
  EXPECT_EQ(ReadFile(client_.path() + "-repairing-1"), "mine");
}

TEST_F(StoreFilesTest, U11AFileInUseIsNotRepaired) {
  ASSERT_TRUE(client_.Open());
  const auto repair = Repair(file());
  ASSERT_FALSE(repair);
  EXPECT_EQ(repair.error().code, Code::kUnavailable);
}

// Overwrites each page with garbage. Fails if: the file opens with more tokens than before, the
// error does not name the remedy, the repair fails, or a row of another page is lost.
TEST_F(StoreFilesTest, U11APageOfGarbageCostsThatPage) {
  for (std::size_t page = 0; page < whole_.size() / kPage; ++page) {
    SCOPED_TRACE(fmt::format("page {}", page + 1));
    std::string content = whole_;
    content.replace(page * kPage, kPage, std::string(kPage, '\x5a'));
    WriteFile(client_.path(), content);
    const Status opened = client_.Open();
    if (opened) {
      ASSERT_TRUE(client_.Close());
      WriteFile(client_.path(), content);
    } else {
      EXPECT_THAT(opened.error().message, HasSubstr("weir store repair"));
    }
    const auto repair = Repair(file());
    ASSERT_TRUE(repair) << repair.error().message;
    if (repair->kept_as.empty()) continue;  // a free page
    EXPECT_EQ(ReadFile(repair->kept_as), content);
    EXPECT_TRUE(Check(client_.path()).sound());
    const bool lost = repair->salvaged.scan.unreadable + repair->salvaged.scan.lost_records > 0;
    for (const auto& [entity, tokens] : TokensIn(client_.path())) {
      EXPECT_LE(tokens, lost ? 0 : entity == Name(0) ? 700 : 900) << entity;
    }
    // The loss is at most the rows of one page.
    EXPECT_GE(repair->result.rows.at("entity") + repair->result.rows.at("bucket"), 150U);
  }
}

// Fails if: a limit that only a request names, and that takes more than a year to become full, has
// tokens after a repair that emptied the buckets.
TEST_F(StoreFilesTest, ASlowLimitHasNoTokensInAnEmptiedBucket) {
  const Limit slow{"slow", {.capacity = 1'000'000, .amount = 1'000, .period = 86'400'000}};
  const std::int64_t left = client_.now().value;
  RunSql(client_.path(),
         fmt::format("UPDATE bucket SET extras = '{{\"limits\":{{}},\"left\":[{},{}]}}' "
                     "WHERE entity = 'acme-007'",
                     left, left + 1000 * slow.quota.period));
  std::string content = ReadFile(client_.path());
  content.replace(content.size() - kPage, kPage, std::string(kPage, '\x5a'));
  WriteFile(client_.path(), content);
  ASSERT_GT(Repair(file())->emptied_buckets, 0U);
  ASSERT_TRUE(client_.Open());
  for (const int i : {7, 9}) {
    const TargetPtr target = MakeTarget({Name(i), "gpt-4", 0}, {slow}, LimitSource::kOverride);
    EXPECT_FALSE(client_.Acquire({Take(target, 1)})->admitted) << Name(i);
  }
}

// Fails if: a bucket whose row is lost begins full, although its usage is known.
TEST_F(StoreFilesTest, ALostBucketOfWhichThereIsUsageBeginsEmpty) {
  RunSql(client_.path(),
         "INSERT INTO usage(entity, resource, start, span, used, overdrawn, events) VALUES"
         "('acme-007', 'gpt-4', 1767222000000, 'hourly', '{\"rpm\":100}', '{}', 1),"
         "('acme-008', 'gpt-4', 1767222000000, 'hourly', '{\"rpm\":100}', '{}', 1);"
         "DELETE FROM bucket WHERE entity = 'acme-007'");
  std::string content = ReadFile(client_.path());
  content.replace(content.size() - kPage, kPage, std::string(kPage, '\x5a'));
  WriteFile(client_.path(), content);
  const auto repair = Repair(file());
  ASSERT_TRUE(repair) << repair.error().message;
  ASSERT_GT(repair->salvaged.scan.unreadable, 0U);
  const auto tokens = TokensIn(client_.path());
  ASSERT_TRUE(tokens.contains("acme-007"));
  EXPECT_EQ(tokens.at("acme-007"), 0);
  ASSERT_TRUE(client_.Open());
  EXPECT_FALSE(client_.Acquire({Take(StillTarget(Name(7)), 1)})->admitted);
  EXPECT_TRUE(client_.Acquire({Take(StillTarget("new"), 1)})->admitted);
}

TEST_F(StoreFilesTest, U11ATruncatedFileIsSavedUpToItsEnd) {
  for (std::size_t pages = 1; pages < whole_.size() / kPage; pages += 3) {
    SCOPED_TRACE(fmt::format("{} pages", pages));
    WriteFile(client_.path(), whole_.substr(0, pages * kPage + 100));
    const Status opened = client_.Open();
    if (opened) {
      ASSERT_TRUE(client_.Close());
    } else {
      EXPECT_THAT(opened.error().message, HasSubstr("weir store repair"));
    }
    WriteFile(client_.path(), whole_.substr(0, pages * kPage + 100));
    const auto repair = Repair(file());
    ASSERT_TRUE(repair) << repair.error().message;
    ASSERT_NE(repair->kept_as, "");
    EXPECT_GT(repair->salvaged.scan.unreadable, 0U);
    EXPECT_TRUE(Check(client_.path()).sound());
    for (const auto& [entity, tokens] : TokensIn(client_.path())) EXPECT_LE(tokens, 0) << entity;
  }
}

// Flips every 29th byte of a page of the table. Fails if: a flip crashes the repair, or leaves a
// file that cannot be opened.
TEST_F(StoreFilesTest, U11EveryByteOfAPageFlippedCanBeRepaired) {
  for (std::size_t at = kPage; at < 2 * kPage; at += 29) {
    SCOPED_TRACE(fmt::format("byte {}", at));
    std::string content = whole_;
    content[at] = static_cast<char>(content[at] ^ 0x81);
    WriteFile(client_.path(), content);
    const auto repair = Repair(file());
    ASSERT_TRUE(repair) << repair.error().message;
    EXPECT_TRUE(client_.Open());
    EXPECT_THAT(client_.backend().damage().first(), IsEmpty());
    ASSERT_TRUE(client_.Close());
  }
}

// Fails if: a flip in the header of the file costs more than the header, or leads to an error that
// does not name the remedy.
TEST_F(StoreFilesTest, U11EveryByteOfTheHeaderFlippedCanBeRepaired) {
  for (const std::size_t at :
       {0U,  15U, 16U, 17U, 18U, 19U, 20U, 21U, 24U, 28U, 31U, 32U, 35U, 36U,
        39U, 40U, 44U, 47U, 52U, 55U, 56U, 59U, 60U, 63U, 64U, 68U, 71U, 96U}) {
    for (const char mask : {'\x01', '\x80'}) {
      SCOPED_TRACE(fmt::format("byte {}, {:x}", at, static_cast<unsigned char>(mask)));
      std::string content = whole_;
      content[at] = static_cast<char>(content[at] ^ mask);
      WriteFile(client_.path(), content);
      const Status opened = client_.Open();
      if (opened) {
        ASSERT_TRUE(client_.Close());
      } else {
        EXPECT_THAT(opened.error().message, HasSubstr("weir store repair"));
      }
      WriteFile(client_.path(), content);
      const auto repair = Repair(file());
      ASSERT_TRUE(repair) << repair.error().message;
      EXPECT_EQ(repair->result.rows.at("entity"), kEntities + 1);
      EXPECT_EQ(repair->result.rows.at("bucket"), kEntities);
      for (const auto& [entity, tokens] : TokensIn(client_.path())) {
        EXPECT_LE(tokens, entity == Name(0) ? 700 : 900) << entity;
      }
    }
  }
}

TEST_F(StoreFilesTest, U11ARepairThatWasKilledIsFinishedByTheNextOne) {
  const std::string waiting = client_.path() + "-repaired";
  std::filesystem::copy_file(client_.path(), waiting);
  WriteFile(client_.path(), "damaged");
  WriteFile(client_.path() + "-wal", "of the damaged file");
  const Status opened = client_.Open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kUnavailable);
  EXPECT_THAT(opened.error().message, HasSubstr("run 'weir store repair' again"));
  const auto reader = OpenToRead(client_.path(), client_.scheduler().clock());
  EXPECT_FALSE(reader);
  EXPECT_FALSE(CheckFile(file(), now()));
  EXPECT_FALSE(BackUpFile(file(), folder_ / "copy.db"));
  ASSERT_TRUE(Repair(file()));
  EXPECT_FALSE(FileExists(waiting));
  EXPECT_FALSE(FileExists(client_.path() + "-wal"));
  EXPECT_EQ(TokensIn(client_.path()).at("acme-000"), 700);
}

// Fails if: a repair does not notice that commits are missing, so that buckets begin with the
// tokens of earlier commits.
TEST_F(StoreFilesTest, U11AHoleInTheWriteAheadLogEmptiesTheBuckets) {
  ASSERT_TRUE(client_.Open());
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(client_.Acquire({Take(StillTarget(Name(i)), 10)})->admitted);
    client_.Commit();
  }
  const std::string killed = client_.CopyAsKilled();
  ASSERT_TRUE(client_.Close());
  std::string log = ReadFile(killed + "-wal");
  ASSERT_GT(log.size(), 3 * kPage);
  log[2 * kPage] = static_cast<char>(log[2 * kPage] ^ 1);
  WriteFile(killed + "-wal", log);
  const auto repair = Repair({.path = killed});
  ASSERT_TRUE(repair) << repair.error().message;
  ASSERT_NE(repair->kept_as, "");
  EXPECT_EQ(ReadFile(repair->kept_as + "-wal"), log);
  for (const auto& [entity, tokens] : TokensIn(killed)) EXPECT_LE(tokens, 0) << entity;
}

class DamagedLogTest : public StoreFilesTest {
 protected:
  // Returns the file of a killed owner. Five commits are in its log.
  std::string Killed() {
    EXPECT_TRUE(client_.Open());
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(client_.Acquire({Take(StillTarget(Name(i)), 10)})->admitted);
      client_.Commit();
    }
    std::string killed = client_.CopyAsKilled();
    EXPECT_TRUE(client_.Close());
    return killed;
  }
  static void Flip(std::string& bytes, std::size_t at) {
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
  }
  // Returns a frame of this log that cannot be read. `pages`: of the file after its commit; 0: it
  // is not the last frame of a commit.
  static std::string UnreadableFrame(const std::string& log, char pages) {
    std::string frame = log.substr(32, 24 + kPage);
    frame.replace(4, 4, {0, 0, 0, pages});
    Flip(frame, 100);
    return frame;
  }
};

// Fails if: a file is sound although commits in its log are lost, or a repair gives their tokens
// back.
TEST_F(DamagedLogTest, ALostLogIsDamageAndEmptiesTheBuckets) {
  const std::string killed = Killed();
  const std::string whole = ReadFile(killed);
  const std::string log = ReadFile(killed + "-wal");
  ASSERT_GT(log.size(), 3 * kPage);
  std::map<std::string, std::string> damaged = {
      {"cut in the header", log.substr(0, 20)},
      {"cut in the last frame", log.substr(0, log.size() - 10)},
      {"cut behind the header of the last frame", log.substr(0, log.size() - kPage)}};
  for (const auto& [part, at] : std::map<std::string, std::size_t>{
           {"magic", 1}, {"page size", 10}, {"salt", 17}, {"checksum", 25}, {"frame", 156}}) {
    Flip(damaged[part] = log, at);
  }
  for (const auto& [part, bytes] : damaged) {
    SCOPED_TRACE(part);
    WriteFile(killed, whole);
    WriteFile(killed + "-wal", bytes);
    EXPECT_THAT(Check(killed).damage.first(), ElementsAre(HasSubstr("log " + killed + "-wal: ")));
    EXPECT_EQ(ReadFile(killed), whole);
    EXPECT_EQ(ReadFile(killed + "-wal"), bytes);
    const auto repair = Repair({.path = killed});
    ASSERT_TRUE(repair) << repair.error().message;
    ASSERT_NE(repair->kept_as, "");
    EXPECT_TRUE(repair->lacks_records());
    EXPECT_EQ(repair->emptied_buckets, kEntities);
    for (const auto& [entity, tokens] : TokensIn(killed)) EXPECT_LE(tokens, 0) << entity;
  }
}

// Fails if: a log that a kill leaves counts as damaged.
TEST_F(DamagedLogTest, ALogThatWasEmptiedOrBegunAgainIsSound) {
  const std::string killed = Killed();
  EXPECT_TRUE(Check(killed).sound());
  const std::string again = killed + ".again";
  {
    auto connection = *sqlite::Connection::Open(killed, "");
    ASSERT_TRUE(connection.QueryInteger("SELECT count(*) FROM bucket"));
    ASSERT_TRUE(connection.Checkpoint());
    ASSERT_TRUE(connection.Execute("UPDATE entity SET name = 'again' WHERE id = 'acme-001'"));
    const std::string log = ReadFile(killed + "-wal");
    ASSERT_NE(log.substr(16, 8), log.substr(log.size() - kPage - 16, 8))
        << "frames of the earlier log follow those of the new one";
    for (const char* suffix : {"", "-wal"}) WriteFile(again + suffix, ReadFile(killed + suffix));
    ASSERT_TRUE(connection.EmptyLog());
    ASSERT_EQ(ReadFile(killed + "-wal"), "");
    for (const char* suffix : {"", "-wal"}) {
      WriteFile(again + "2" + suffix, ReadFile(killed + suffix));
    }
  }
  EXPECT_TRUE(Check(again).sound());
  EXPECT_TRUE(Check(again + "2").sound());
}

// Fails if: a repair empties the buckets because a transaction was not committed, and a shorter one
// was written over its beginning.
TEST_F(DamagedLogTest, FramesWithoutACommitAreNoDamage) {
  const std::string killed = Killed();
  const std::string log = ReadFile(killed + "-wal");
  WriteFile(killed + "-wal", log + UnreadableFrame(log, 0) + UnreadableFrame(log, 0));
  EXPECT_TRUE(Check(killed).sound());
  WriteFile(killed + "-wal", log + UnreadableFrame(log, 0).substr(0, 100));
  EXPECT_TRUE(Check(killed).sound());
  WriteFile(killed + "-wal", log + UnreadableFrame(log, 0) + UnreadableFrame(log, 9));
  EXPECT_FALSE(Check(killed).sound());
}

// Fails if: the log of a damaged file is not examined although no process has the file open.
TEST_F(DamagedLogTest, TheLogOfADamagedFileIsExamined) {
  const std::string killed = Killed();
  std::string content = ReadFile(killed);
  WriteFile(killed, content.replace(0, 100, 100, '\x5a'));
  const FileCheck whole = Check(killed);
  EXPECT_TRUE(whole.is_log_examined) << whole.log_error;
  EXPECT_EQ(whole.damage.count("page"), 1U);
  EXPECT_EQ(whole.damage.count("log"), 0U);
  std::string log = ReadFile(killed + "-wal");
  Flip(log, 156);
  WriteFile(killed + "-wal", log);
  EXPECT_EQ(Check(killed).damage.count("log"), 1U);
  EXPECT_EQ(ReadFile(killed), content);
  EXPECT_EQ(ReadFile(killed + "-wal"), log);
}

// Fails if: a repair calls a file sound whose log it has not examined.
TEST_F(DamagedLogTest, ARepairIsRefusedWhileAnotherProcessReads) {
  const std::string killed = Killed();
  std::string log = ReadFile(killed + "-wal");
  Flip(log, 156);
  WriteFile(killed + "-wal", log);
  auto reader = *sqlite::Connection::OpenToRead(killed, "");
  ASSERT_TRUE(reader.Execute("BEGIN; SELECT count(*) FROM bucket"));
  const FileCheck check = Check(killed);
  EXPECT_FALSE(check.is_log_examined);
  EXPECT_THAT(check.log_error, HasSubstr("another program has the file open"));
  const auto repair = Repair({.path = killed});
  ASSERT_FALSE(repair);
  EXPECT_EQ(repair.error().code, Code::kUnavailable);
}

// Fails if: a frame that an owner has written in part counts as damage.
TEST_F(DamagedLogTest, TheLogOfAnOwnerIsNotExamined) {
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(StillTarget(Name(1)), 50)})->admitted);
  client_.Commit();
  const std::string log = ReadFile(client_.path() + "-wal");
  std::ofstream(client_.path() + "-wal", std::ios::binary | std::ios::app)
      << UnreadableFrame(log, 9);
  EXPECT_TRUE(Check(client_.path()).sound());
  EXPECT_FALSE(Check(client_.CopyAsKilled()).sound());
}

// SQLite's default VFS while this lives. Calls `on_delete` before a file is deleted.
class DeletionVfs {
 public:
  using OnDelete = std::function<void(const std::string& path)>;
  explicit DeletionVfs(OnDelete on_delete) : on_delete_(std::move(on_delete)) {
    vfs_.zName = "deletions";
    vfs_.pNext = nullptr;
    vfs_.pAppData = this;
    vfs_.xOpen = [](sqlite3_vfs* vfs, sqlite3_filename path, sqlite3_file* file, int flags,
                    int* out_flags) {
      sqlite3_vfs* const real = Of(vfs).real_;
      return real->xOpen(real, path, file, flags, out_flags);
    };
    vfs_.xDelete = [](sqlite3_vfs* vfs, const char* path, int sync) {
      Of(vfs).on_delete_(path);
      sqlite3_vfs* const real = Of(vfs).real_;
      return real->xDelete(real, path, sync);
    };
    sqlite3_vfs_register(&vfs_, 1);
  }
  ~DeletionVfs() { sqlite3_vfs_unregister(&vfs_); }
  DeletionVfs(const DeletionVfs&) = delete;
  DeletionVfs& operator=(const DeletionVfs&) = delete;

 private:
  static DeletionVfs& Of(sqlite3_vfs* vfs) { return *static_cast<DeletionVfs*>(vfs->pAppData); }

  OnDelete on_delete_;
  sqlite3_vfs* real_ = sqlite3_vfs_find(nullptr);
  sqlite3_vfs vfs_ = *real_;
};

// Fails if: a check does not hold SQLite's locks on the file any more when it deletes the log,
// which may be that of a process that has opened the file since.
TEST_F(StoreFilesTest, ACheckHoldsItsLocksUntilItsLogIsDeleted) {
  // Closing any descriptor of the file would release the locks, so this one stays open meanwhile.
  const int descriptor = open(client_.path().c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  std::vector<bool> locked;
  {
    const DeletionVfs vfs([&](const std::string& path) {
      if (!path.ends_with("/weir.db-wal")) return;
      struct flock lock = {};
      lock.l_type = F_WRLCK;
      lock.l_whence = SEEK_SET;
      lock.l_start = 0x40000000;  // SQLite's bytes
      lock.l_len = 512;
      locked.push_back(fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK);
    });
    EXPECT_TRUE(Check(client_.path()).is_log_examined);
  }
  close(descriptor);
  EXPECT_THAT(locked, AllOf(Not(IsEmpty()), Each(true)));
}

TEST_F(StoreFilesTest, U11CheckAndBackupWorkNextToAnOwner) {
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(StillTarget(Name(1)), 50)})->admitted);
  client_.Commit();
  EXPECT_TRUE(Check(client_.path()).sound());
  const std::string copy = folder_ / "copy.db";
  ASSERT_TRUE(BackUpFile(file(), copy));
  EXPECT_EQ(TokensIn(copy).at(Name(1)), 850);
  ASSERT_TRUE(client_.Acquire({Take(StillTarget(Name(1)), 50)})->admitted);
  ASSERT_TRUE(client_.Close());
  EXPECT_EQ(TokensIn(client_.path()).at(Name(1)), 800);
}

// Fails if: records of an older version are lost because the version number is.
TEST_F(StoreFilesTest, U11AFileOfAnyVersionIsRepaired) {
  const auto migrations = Migrations();
  for (std::size_t count = 1; count <= migrations.size(); ++count) {
    SCOPED_TRACE(count);
    const std::string path = folder_ / fmt::format("v{}.db", count);
    {
      auto connection = sqlite::Connection::Open(path, "");
      ASSERT_TRUE(connection);
      ASSERT_TRUE(PrepareSchema(*connection, migrations.first(count)));
      ASSERT_TRUE(connection->Close());
    }
    RunSql(path, "INSERT INTO entity VALUES('acme', 'Acme', NULL, 0, '{}', 0, 0)");
    RunSql(path, fmt::format("INSERT INTO bucket VALUES('acme', 'gpt-4', 0, 1767225600013, "
                             "'{{\"rpm\":[5000,0,0,10000,10000,60000]}}'{})",
                             count < 3   ? ""
                             : count < 6 ? ", NULL"
                                         : ", NULL, NULL"));
    if (count >= 2) {
      RunSql(path, fmt::format("INSERT INTO audit VALUES('acme', '01KDVQ5DRD000000000000000{}', "
                               "1767225600000, 'looked', NULL, NULL, '{{}}'{})",
                               1, count < 5 ? "" : ", 7776000000, 1"));
    }
    std::string content = ReadFile(path);
    content.replace(0, 100, 100, '\x5a');
    WriteFile(path, content);
    const auto repair = Repair({.path = path});
    ASSERT_TRUE(repair) << repair.error().message;
    EXPECT_EQ(repair->result.rows.at("entity"), 1U);
    EXPECT_EQ(repair->result.rows.at("bucket"), 1U);
    EXPECT_EQ(repair->result.rows.at("audit"), count < 2 ? 0U : 1U);
    EXPECT_TRUE(Check(path).sound());
  }
}

TEST_F(StoreFilesTest, ABackupIsWhatTheFileWas) {
  const std::string copy = folder_ / "copy.db";
  const Status copied = BackUpFile({.path = killed_}, copy);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_TRUE(Check(copy).sound());
  EXPECT_EQ(TokensIn(copy), TokensIn(killed_));
  EXPECT_FALSE(FileExists(copy + "-wal"));
}

TEST_F(StoreFilesTest, ABackupOverwritesNothing) {
  const std::string copy = folder_ / "copy.db";
  WriteFile(copy, "mine");
  const std::size_t files = FilesInFolder();
  const Status copied = BackUpFile(file(), copy);
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, Code::kAlreadyExists);
  EXPECT_EQ(ReadFile(copy), "mine");
  EXPECT_EQ(FilesInFolder(), files);
}

TEST_F(StoreFilesTest, TheFilesOfAStoreAreFoundByTheirNames) {
  const std::string path = folder_ / "s.db";
  EXPECT_EQ(FilesOf(path).error().code, Code::kNotFound);
  for (const char* suffix :
       {"", "-namespaces", "-reservations", ".old copy", "-wal", "-damaged-1", ".w4JBFoEWrDk",
        ".w4JBFoEWrDk-wal", ".w4JBFoEWrDk-lock", ".w4JBFoEWrDk-damaged-2"}) {
    WriteFile(path + suffix, "x");
  }
  const auto files = FilesOf(path);
  ASSERT_TRUE(files);
  std::vector<std::string> paths;
  for (const StoreFile& file : *files) paths.push_back(file.path.substr(path.size()));
  EXPECT_THAT(paths, ElementsAre("", ".w4JBFoEWrDk", "-namespaces", "-reservations"));
}

TEST_F(StoreFilesTest, AnotherDatabaseIsLeftAlone) {
  const std::string path = folder_ / "other.db";
  RunSql(path, "CREATE TABLE t(x); INSERT INTO t VALUES(1)");
  const std::string before = ReadFile(path);
  EXPECT_EQ(Repair({.path = path}).error().code, Code::kFailedPrecondition);
  EXPECT_EQ(ReadFile(path), before);
}

// Fails if: a text file that was named by mistake is replaced by an empty store.
TEST_F(StoreFilesTest, AFileThatIsNoDatabaseIsLeftAlone) {
  const StoreFile text{.path = client_.path() + ".txt"};
  std::string lines;
  while (lines.size() < 3 * kPage) lines += "a line of notes\n";
  WriteFile(text.path, lines);
  const auto repaired = Repair(text);
  ASSERT_FALSE(repaired);
  EXPECT_EQ(repaired.error().code, Code::kDataLoss);
  EXPECT_THAT(repaired.error().message, HasSubstr("left as it is"));
  EXPECT_EQ(ReadFile(text.path), lines);
  EXPECT_FALSE(std::filesystem::exists(text.path + "-damaged-1"));
}

}  // namespace
}  // namespace weir
