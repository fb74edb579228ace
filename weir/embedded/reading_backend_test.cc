// U6: a file is read next to its owner, or without one.
#include "weir/embedded/reading_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/embedded/file/sqlite.h"
#include "weir/embedded/testing/embedded_fixture.h"
#include "weir/embedded/testing/faulty_vfs.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ReadingTest : public EmbeddedTest {
 protected:
  void OpenReader(const ReadingOptions& options = {}) {
    auto opened = OpenToRead(client_.path(), client_.scheduler().clock(), options);
    ASSERT_TRUE(opened) << opened.error().message;
    reader_ = *std::move(opened);
  }
  // Returns the tokens of the reader's bucket, or nothing if there is none.
  std::optional<std::int64_t> ReaderHas(const TargetPtr& target) {
    std::optional<std::int64_t> tokens;
    reader_->buckets().Read(std::vector{target->key}, Deadline::Never(), [&](auto records) {
      if (records->front()) tokens = records->front()->bucket.meters[0].tokens / kMillitokens;
    });
    return tokens;
  }
  std::vector<std::string> ReaderEntities() {
    std::vector<std::string> ids;
    reader_->config().ListEntities(std::nullopt, {}, Deadline::Never(), [&](auto page) {
      for (const EntityRecord& record : page->items) ids.push_back(record.entity.id);
    });
    return ids;
  }
  std::size_t ReaderEvents(const std::string& subject) {
    std::size_t events = 99;
    reader_->audit().List(subject, {}, Deadline::Never(),
                          [&](auto page) { events = page->items.size(); });
    return events;
  }

  std::unique_ptr<Backend> reader_;
  const TargetPtr acme_ = StillTarget("acme", 10);
};

TEST_F(ReadingTest, U6SeesTheLastCommitNextToAnOwner) {
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Apply({CreateEntity{{.entity = {.id = "acme"}}}}));
  ASSERT_TRUE(client_.Acquire({Take(acme_, 3)})->admitted);
  client_.Commit();
  ASSERT_TRUE(client_.Acquire({Take(acme_, 4)})->admitted);
  OpenReader();
  EXPECT_EQ(ReaderHas(acme_), 7) << "not what is not committed";
  EXPECT_THAT(ReaderEntities(), ElementsAre("acme"));
  EXPECT_EQ(ReaderEvents("acme"), 1U);
  client_.Commit();
  EXPECT_EQ(ReaderHas(acme_), 7) << "as it was when it was opened";
  EXPECT_TRUE(reader_->Close());
  OpenReader();
  EXPECT_EQ(ReaderHas(acme_), 3);
}

// Fails if: a reader changes the commits of the owner, or keeps it from closing.
TEST_F(ReadingTest, U6TheOwnerGoesOnAndClosesNextToAReader) {
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(acme_, 3)})->admitted);
  client_.Commit();
  OpenReader();
  ASSERT_TRUE(client_.scheduler().RunAll()) << "folded";
  ASSERT_TRUE(client_.Acquire({Take(acme_, 4)})->admitted);
  EXPECT_TRUE(client_.Close());
  EXPECT_EQ(ReaderHas(acme_), 7);
  EXPECT_TRUE(reader_->Close());
  ASSERT_TRUE(client_.Open());
  EXPECT_EQ(client_.Balance(acme_), 3000);
}

// Fails if: an owner cannot close the file while a reader's transaction uses its log.
TEST_F(ReadingTest, U6TheOwnerClosesNextToAReaderThatHasNotFinished) {
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(acme_, 3)})->admitted);
  client_.Commit();
  auto reading = sqlite::Connection::OpenToRead(client_.path(), "");
  ASSERT_TRUE(reading) << reading.error().message;
  ASSERT_TRUE(reading->Execute("BEGIN; SELECT count(*) FROM bucket"));
  ASSERT_TRUE(client_.Acquire({Take(acme_, 4)})->admitted);
  const Status closed = client_.Close();
  EXPECT_TRUE(closed) << closed.error().message;
  EXPECT_TRUE(reading->Close());
  ASSERT_TRUE(client_.Open());
  EXPECT_EQ(client_.Balance(acme_), 3000);
}

TEST_F(ReadingTest, U6AReaderAloneLeavesTheFileAsItWas) {
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(acme_, 3)})->admitted);
  ASSERT_TRUE(client_.Close());
  const std::string before = ReadFile(client_.path());
  OpenReader();
  EXPECT_EQ(ReaderHas(acme_), 7);
  EXPECT_FALSE(client_.Open()) << "it is the reader's";
  EXPECT_TRUE(reader_->Close());
  EXPECT_EQ(ReadFile(client_.path()), before);
  for (const char* const suffix : {"-wal", "-shm", "-lock"}) {
    EXPECT_FALSE(FileExists(client_.path() + suffix)) << suffix;
  }
}

TEST_F(ReadingTest, U6AReaderSeesWhatAKilledOwnerCommitted) {
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(acme_, 3)})->admitted);
  client_.Commit();
  EmbeddedClient killed(client_.CopyAsKilled());
  auto reader = OpenToRead(killed.path(), client_.scheduler().clock());
  ASSERT_TRUE(reader) << reader.error().message;
  reader_ = *std::move(reader);
  EXPECT_EQ(ReaderHas(acme_), 7);
  EXPECT_TRUE(reader_->Close());
  ASSERT_TRUE(killed.Open());
  EXPECT_EQ(killed.Balance(acme_), 7000);
}

TEST_F(ReadingTest, U6AFileThatCanOnlyBeReadIsRead) {
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(acme_, 3)})->admitted);
  ASSERT_TRUE(client_.Close());
  FaultyVfs disk("read-only disk");
  disk.MakeReadOnly();
  OpenReader({.vfs = disk.name()});
  EXPECT_EQ(ReaderHas(acme_), 7);
  EXPECT_TRUE(reader_->Close());
}

TEST_F(ReadingTest, U15WithoutBucketsNoneAreLoaded) {
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Apply({CreateEntity{{.entity = {.id = "acme"}}}}));
  ASSERT_TRUE(client_.Acquire({Take(acme_, 3)})->admitted);
  ASSERT_TRUE(client_.Close());
  RunSql(client_.path(), "UPDATE bucket SET limits = 'damaged'");
  OpenReader({.buckets = false});
  EXPECT_THAT(ReaderEntities(), ElementsAre("acme"));
  std::optional<Code> code;
  reader_->buckets().List({}, {}, Deadline::Never(),
                          [&](const auto& page) { code = page.error().code; });
  EXPECT_EQ(code, Code::kFailedPrecondition);
}

TEST_F(ReadingTest, WhatWouldChangeTheFileIsRefused) {
  ASSERT_TRUE(client_.Open());
  OpenReader();
  std::vector<Code> codes;
  const auto note = [&](const auto& result) { codes.push_back(result.error().code); };
  const std::vector<Charge> charges = {Take(acme_, 1)};
  reader_->buckets().Acquire(charges, client_.now(), Deadline::Never(), note);
  reader_->buckets().Adjust(charges, AdjustId{1, 2}, client_.now(), Deadline::Never(), note);
  reader_->config().Apply({CreateEntity{{.entity = {.id = "acme"}}}}, Deadline::Never(), note);
  reader_->audit().Append({}, Deadline::Never(), note);
  reader_->usage().Add({}, Deadline::Never(), note);
  EXPECT_EQ(codes, std::vector<Code>(5, Code::kFailedPrecondition));
}

TEST_F(ReadingTest, AFileThatIsNotThereIsNotMade) {
  const auto reader = OpenToRead(client_.path(), client_.scheduler().clock());
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, Code::kNotFound);
  EXPECT_FALSE(FileExists(client_.path()));
}

// Fails if: a reader reads columns that an older file does not have.
TEST_F(ReadingTest, AnOlderFileThatCannotBeMigratedIsRefused) {
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Close());
  RunSql(client_.path(), "PRAGMA user_version = 1");
  FaultyVfs disk("read-only disk");
  disk.MakeReadOnly();
  const auto reader = OpenToRead(client_.path(), client_.scheduler().clock(), {.vfs = disk.name()});
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(reader.error().message, HasSubstr("version 1"));
}

TEST_F(ReadingTest, AClosedReaderAnswersUnavailable) {
  ASSERT_TRUE(client_.Open());
  OpenReader();
  EXPECT_TRUE(reader_->Close());
  std::optional<Code> code;
  reader_->config().GetEntities({}, Deadline::Never(),
                                [&](const auto& found) { code = found.error().code; });
  EXPECT_EQ(code, Code::kUnavailable);
  reader_->audit().List("acme", {}, Deadline::Never(),
                        [&](const auto& found) { code = found.error().code; });
  EXPECT_EQ(code, Code::kUnavailable);
}

}  // namespace
}  // namespace weir
