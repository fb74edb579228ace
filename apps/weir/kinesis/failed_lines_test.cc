#include "apps/weir/kinesis/failed_lines.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "apps/weir/files.h"
#include "weir/base/testing/temp_folder_fixture.h"

namespace weir::app {
namespace {

using testing::HasSubstr;

class FailedLinesTest : public testing::Test {
 protected:
  const TempFolder folder_;
  const std::string path_ = folder_ / "failed";
};

// Q1. Fails if: opening the file empties it, or a line is appended to the lines of an earlier run.
TEST_F(FailedLinesTest, Q1LinesOfAnEarlierRunStayUntilALineFails) {
  ASSERT_TRUE(WriteFile(path_, "old\n"));
  auto file = FailedLines::Open(path_, {.replace = true});
  ASSERT_TRUE(file);
  EXPECT_EQ(ReadFile(path_), "old\n");
  (*file)->stream() << "a\n";
  (*file)->stream() << "b\n" << std::flush;
  EXPECT_EQ(ReadFile(path_), "a\nb\n");
}

TEST_F(FailedLinesTest, Q1LinesOfAnEarlierRunAreNotReplacedUnasked) {
  ASSERT_TRUE(WriteFile(path_, "old\n"));
  const auto file = FailedLines::Open(path_, {});
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Code::kAlreadyExists);
  EXPECT_THAT(file.error().message, HasSubstr(path_ + " already has lines: "));
  ASSERT_TRUE(WriteFile(path_, ""));
  EXPECT_TRUE(FailedLines::Open(path_, {}));
}

// Fails if: a link hides that the lines are read from the same file.
TEST_F(FailedLinesTest, Q1TheInputIsNotReplaced) {
  ASSERT_TRUE(WriteFile(path_, "old\n"));
  const std::string link = folder_ / "link";
  std::filesystem::create_symlink(path_, link);
  const int input = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  for (const std::string& path : {path_, link}) {
    const auto file = FailedLines::Open(path, {.replace = true, .input = input});
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, Code::kInvalidArgument);
    EXPECT_THAT(file.error().message, HasSubstr("is the file that is read"));
  }
  close(input);
  EXPECT_EQ(ReadFile(path_), "old\n");
}

TEST_F(FailedLinesTest, SaysWhatCannotBeWritten) {
  const auto file = FailedLines::Open(folder_ / "no/file", {});
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("no/file for the lines that fail: No such file"));
}

TEST_F(FailedLinesTest, ADeviceIsWrittenAsItIs) {
  auto file = FailedLines::Open("/dev/null", {});
  ASSERT_TRUE(file);
  EXPECT_TRUE((*file)->stream() << "a\n" << std::flush);
}

}  // namespace
}  // namespace weir::app
