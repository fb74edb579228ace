#include "apps/weir/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "weir/base/temp_folder_fixture.h"

namespace weir::app {
namespace {

using testing::HasSubstr;

class FilesTest : public testing::Test {
 protected:
  const TempFolder folder_;
  const std::string path_ = folder_ / "file";
};

TEST_F(FilesTest, ReadsWhatWasWritten) {
  const std::string text("a\r\n\0b\n", 6);
  ASSERT_TRUE(WriteFile(path_, text));
  EXPECT_EQ(ReadFile(path_), text);
  ASSERT_TRUE(WriteFile(path_, ""));
  EXPECT_EQ(ReadFile(path_), "");
}

TEST_F(FilesTest, LeavesNothingElseBehind) {
  ASSERT_TRUE(WriteFile(path_, "a"));
  const std::filesystem::directory_iterator files(folder_.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_F(FilesTest, SaysWhatCannotBeRead) {
  const auto missing = ReadFile(path_);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("cannot read " + path_ + ": No such file"));
  const auto folder = ReadFile(folder_.path());
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, HasSubstr("Is a directory"));
}

TEST_F(FilesTest, SaysWhatCannotBeWritten) {
  const Status written = WriteFile(folder_ / "no/file", "a");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("/no/file"));
}

int FailToSync(int) {
  errno = EIO;
  return -1;
}

int FailToClose(int descriptor) {
  close(descriptor);
  errno = EDQUOT;
  return -1;
}

// Fails if: the file is replaced before what was written is known to be on the disk.
TEST_F(FilesTest, C22WhatIsNotOnTheDiskReplacesNothing) {
  ASSERT_TRUE(WriteFile(path_, "old"));
  const DiskCalls no_sync = {.sync = FailToSync, .close = close};
  const DiskCalls no_close = {.sync = fsync, .close = FailToClose};
  for (const DiskCalls& disk : {no_sync, no_close}) {
    const Status written = WriteFile(path_, "new", disk);
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().message, HasSubstr("cannot write " + path_));
    EXPECT_EQ(ReadFile(path_), "old");
    EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
  }
}

TEST_F(FilesTest, AFileThatCannotBeReplacedStays) {
  std::filesystem::create_directories(path_ + "/inside");
  EXPECT_FALSE(WriteFile(path_, "a"));
  EXPECT_TRUE(std::filesystem::exists(path_ + "/inside"));
}

}  // namespace
}  // namespace weir::app
