#include "apps/weir/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST_F(FilesTest, AFileThatCannotBeReplacedStays) {
  std::filesystem::create_directories(path_ + "/inside");
  EXPECT_FALSE(WriteFile(path_, "a"));
  EXPECT_TRUE(std::filesystem::exists(path_ + "/inside"));
}

}  // namespace
}  // namespace weir::app
