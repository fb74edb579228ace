#include "apps/weir/lambda/zip_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minizip/unzip.h>

#include <filesystem>
#include <map>
#include <vector>

#include "apps/weir/files.h"
#include "weir/base/testing/temp_folder_fixture.h"

namespace weir::app {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Returns the content of each file, and its mode.
std::map<std::string, std::pair<std::string, unsigned>> Unzip(const std::string& path) {
  std::map<std::string, std::pair<std::string, unsigned>> files;
  const unzFile zip = unzOpen64(path.c_str());
  if (zip == nullptr) return files;
  for (int next = unzGoToFirstFile(zip); next == UNZ_OK; next = unzGoToNextFile(zip)) {
    unz_file_info64 info = {};
    std::string name(100, '\0');
    unzGetCurrentFileInfo64(zip, &info, name.data(), name.size(), nullptr, 0, nullptr, 0);
    name.resize(info.size_filename);
    std::string content(info.uncompressed_size, '\0');
    unzOpenCurrentFile(zip);
    unzReadCurrentFile(zip, content.data(), static_cast<unsigned>(content.size()));
    EXPECT_EQ(unzCloseCurrentFile(zip), UNZ_OK) << name << ": the checksum";
    files[name] = {content, static_cast<unsigned>(info.external_fa >> 16U)};
  }
  unzClose(zip);
  return files;
}

class ZipFileTest : public testing::Test {
 protected:
  std::ptrdiff_t CountFiles() const {
    return std::distance(std::filesystem::directory_iterator(folder_.path()), {});
  }
  const std::vector<PackageFile> files_ = {
      {.name = "lib/a", .content = std::string(100'000, 'a')},
      {.name = "run", .content = std::string("\0binary", 7), .is_executable = true},
      {.name = "empty", .content = ""}};
  const TempFolder folder_;
  const std::string path_ = folder_ / "out.zip";
};

TEST_F(ZipFileTest, HasTheFilesAndTheirModes) {
  ASSERT_TRUE(WriteZip(path_, files_));
  const auto files = Unzip(path_);
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files.at("lib/a"), std::pair(files_[0].content, 0100644U));
  EXPECT_EQ(files.at("run"), std::pair(files_[1].content, 0100755U));
  EXPECT_EQ(files.at("empty").first, "");
  EXPECT_LT(std::filesystem::file_size(path_), 2'000U) << "compressed";
  EXPECT_EQ(CountFiles(), 1);
}

// Fails if: the file contains the time, so that the same program makes another package each time.
TEST_F(ZipFileTest, EqualFilesMakeEqualBytes) {
  ASSERT_TRUE(WriteZip(path_, files_));
  const std::string other = folder_ / "other.zip";
  ASSERT_TRUE(WriteZip(other, files_));
  EXPECT_EQ(ReadFile(path_), ReadFile(other));
  EXPECT_THAT(*ReadFile(path_), HasSubstr(std::string("\0\0\x21\0", 4))) << "1980-01-01";
}

TEST_F(ZipFileTest, AFailureNamesThePathAndLeavesNoFile) {
  const Status missing = WriteZip(folder_ / "no/out.zip", files_);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, AllOf(HasSubstr("no/out.zip"), HasSubstr("No such file")));
  std::filesystem::create_directory(path_);
  EXPECT_FALSE(WriteZip(path_, files_)) << "a folder";
  EXPECT_EQ(CountFiles(), 1);
}

}  // namespace
}  // namespace weir::app
