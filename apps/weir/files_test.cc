#include "apps/weir/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <istream>
#include <sstream>
#include <streambuf>
#include <string>

#include "weir/base/testing/temp_folder_fixture.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::app {
namespace {

using testing::HasSubstr;

class FilesTest : public testing::Test {
 protected:
  std::ptrdiff_t CountFiles() const {
    const std::filesystem::directory_iterator files(folder_.path());
    return std::distance(begin(files), end(files));
  }

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
  EXPECT_EQ(CountFiles(), 1);
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

// An input that never ends.
class EndlessBuffer : public std::streambuf {
  int_type underflow() override {
    setg(block_.data(), block_.data(), block_.data() + block_.size());
    return traits_type::to_int_type('#');
  }
  std::array<char, 1000> block_{};
};

// Fails if: standard input is read without a bound.
TEST(FilesInput, StandardInputHasABound) {
  sim::SimScheduler scheduler;
  EndlessBuffer endless;
  std::istream in(&endless);
  std::ostringstream out;
  const ProcessContext process{.clock = scheduler.clock(),
                               .scheduler = scheduler,
                               .in = in,
                               .out = out,
                               .err = out,
                               .environment = {},
                               .interrupted = [] { return false; }};
  const auto read = ReadFileOrInput("-", process, 1'000'000);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kInvalidArgument);
  EXPECT_EQ(read.error().message, "standard input has more than 1000000 bytes");
  std::istringstream exact("12345");
  in.rdbuf(exact.rdbuf());
  EXPECT_EQ(ReadFileOrInput("-", process, 5), "12345");
  std::istringstream longer("123456");
  in.rdbuf(longer.rdbuf());
  EXPECT_FALSE(ReadFileOrInput("-", process, 5));
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

// Fails if: the file is replaced before the new text is known to be on the disk.
TEST_F(FilesTest, C22WhatIsNotOnTheDiskReplacesNothing) {
  ASSERT_TRUE(WriteFile(path_, "old"));
  const DiskCalls no_sync = {.sync = FailToSync, .close = close};
  const DiskCalls no_close = {.sync = fsync, .close = FailToClose};
  for (const DiskCalls& disk : {no_sync, no_close}) {
    const Status written = WriteFile(path_, "new", disk);
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().message, HasSubstr("cannot write " + path_));
    EXPECT_EQ(ReadFile(path_), "old");
    EXPECT_EQ(CountFiles(), 1) << "the temporary file is gone";
  }
}

TEST_F(FilesTest, AFileThatCannotBeReplacedStays) {
  std::filesystem::create_directories(path_ + "/inside");
  EXPECT_FALSE(WriteFile(path_, "a"));
  EXPECT_TRUE(std::filesystem::exists(path_ + "/inside"));
}

// Q2. Fails if: a link is replaced by a file, or its target is not written.
TEST_F(FilesTest, Q2ALinkStaysALink) {
  const std::string link = folder_ / "link";
  std::filesystem::create_symlink("file", link);
  for (const char* text : {"first", "second"}) {
    ASSERT_TRUE(WriteFile(link, text));
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_EQ(ReadFile(path_), text);
  }
}

TEST_F(FilesTest, Q2AFileKeepsItsModeAndItsNeighbours) {
  ASSERT_TRUE(WriteFile(path_ + ".new", "mine"));
  ASSERT_TRUE(WriteFile(path_, "old"));
  const auto mode = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  std::filesystem::permissions(path_, mode);
  ASSERT_TRUE(WriteFile(path_, "new"));
  EXPECT_EQ(std::filesystem::status(path_).permissions(), mode);
  EXPECT_EQ(ReadFile(path_ + ".new"), "mine");
}

// Fails if: a pipe is replaced by a file.
TEST_F(FilesTest, Q2APipeIsWrittenAsItIs) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const int reader = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  EXPECT_TRUE(CheckNew(path_));
  ASSERT_TRUE(WriteFile(path_, "ab"));
  std::array<char, 9> got{};
  EXPECT_EQ(read(reader, got.data(), got.size()), 2);
  close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(path_));
}

TEST_F(FilesTest, Q2AFullDeviceIsAnError) {
  const Status written = WriteFile("/dev/full", "a");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("cannot write /dev/full: No space left"));
}

TEST_F(FilesTest, Q2OneFileHasManyNames) {
  ASSERT_TRUE(WriteFile(path_, "a"));
  ASSERT_TRUE(WriteFile(folder_ / "other", "a"));
  EXPECT_TRUE(IsSameFile(path_, folder_ / "./file"));
  std::filesystem::create_symlink(path_, folder_ / "link");
  std::filesystem::create_hard_link(path_, folder_ / "hard");
  EXPECT_TRUE(IsSameFile(folder_ / "link", path_));
  EXPECT_TRUE(IsSameFile(folder_ / "hard", path_));
  EXPECT_FALSE(IsSameFile(path_, folder_ / "other"));
  EXPECT_FALSE(IsSameFile("/dev/null", "/dev/null"));
}

}  // namespace
}  // namespace weir::app
