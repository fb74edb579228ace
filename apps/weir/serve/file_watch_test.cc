#include "apps/weir/serve/file_watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace weir::app {
namespace {

namespace fs = std::filesystem;

constexpr Instant kNow{100'000'000'000};

class FileWatchTest : public testing::Test {
 protected:
  FileWatchTest() {
    fs::create_directories(folder_ / "v1");
    fs::create_directories(folder_ / "v2");
    Write("v1/rules", "1");
    Write("v2/rules", "22");
    fs::create_directory_symlink("v1", folder_ / "data");
    fs::create_symlink("data/rules", folder_ / "rules");
  }
  ~FileWatchTest() override { fs::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  /// Returns what the second of two looks without a change between them returns.
  static bool LookTwice(FileWatch& watch, Instant now) {
    EXPECT_FALSE(watch.HasChanged(now));
    return watch.HasChanged(now);
  }

  // Tests run at the same time, each in a process of its own.
  const fs::path folder_ =
      fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(FileWatchTest, AChangeRemainsOneUntilItIsAcknowledged) {
  FileWatch watch(folder_ / "v1/rules");
  EXPECT_FALSE(watch.HasChanged(kNow));
  Write("v1/rules", "other");
  EXPECT_FALSE(watch.HasChanged(kNow));
  EXPECT_TRUE(watch.HasChanged(kNow));
  EXPECT_TRUE(watch.HasChanged(kNow));
  watch.Acknowledge();
  EXPECT_FALSE(watch.HasChanged(kNow));
}

// Fails if: a file that is being written is read, and records that it lacks so far are lost.
TEST_F(FileWatchTest, AFileThatGrowsIsNoChangeUntilTwoLooksSeeTheSame) {
  FileWatch watch(folder_ / "v1/rules");
  for (const char* const part : {"the first", "the first and more", "the first and more, all"}) {
    Write("v1/rules", part);
    EXPECT_FALSE(watch.HasChanged(kNow)) << part;
  }
  EXPECT_TRUE(watch.HasChanged(kNow));
}

// As at SIGHUP, which reads at once.
TEST_F(FileWatchTest, AFileThatIsReadAtTheFirstLookIsNoChangeLater) {
  FileWatch watch(folder_ / "v1/rules");
  Write("v1/rules", "other");
  EXPECT_FALSE(watch.HasChanged(kNow));
  watch.Acknowledge();
  EXPECT_FALSE(watch.HasChanged(kNow));
  EXPECT_FALSE(watch.HasChanged(kNow));
}

TEST_F(FileWatchTest, AChangeDuringTheReadIsNotAcknowledged) {
  FileWatch watch(folder_ / "v1/rules");
  Write("v1/rules", "other");
  EXPECT_TRUE(LookTwice(watch, kNow));
  Write("v1/rules", "and another");
  watch.Acknowledge();
  EXPECT_TRUE(LookTwice(watch, kNow));
}

// Fails if: a bad file, which may be large, is read again at each look.
TEST_F(FileWatchTest, AFileThatCannotBeUsedIsAChangeAgainAfter10Seconds) {
  using std::chrono::seconds;
  FileWatch watch(folder_ / "v1/rules");
  Write("v1/rules", "bad");
  EXPECT_TRUE(LookTwice(watch, kNow));
  watch.NoteFailure(kNow);
  EXPECT_FALSE(watch.HasChanged(kNow + seconds(9)));
  EXPECT_TRUE(watch.HasChanged(kNow + seconds(10)));
  watch.NoteFailure(kNow + seconds(10));
  Write("v1/rules", "worse");
  EXPECT_TRUE(LookTwice(watch, kNow + seconds(11)));
  watch.NoteFailure(kNow + seconds(11));
  EXPECT_FALSE(watch.HasChanged(kNow + seconds(20)));
  watch.Acknowledge();
  Write("v1/rules", "as bad");
  EXPECT_TRUE(LookTwice(watch, kNow + seconds(20)));
}

// As a mounted ConfigMap changes: the link of a folder is replaced.
TEST_F(FileWatchTest, ALinkThatIsReplacedIsNoticed) {
  FileWatch watch(folder_ / "rules");
  fs::create_directory_symlink("v2", folder_ / "next");
  EXPECT_FALSE(watch.HasChanged(kNow));
  fs::rename(folder_ / "next", folder_ / "data");
  EXPECT_TRUE(LookTwice(watch, kNow));
}

// Fails if: the loss of a file is not reported, or is reported at each look.
TEST_F(FileWatchTest, AFileThatStaysAwayIsAChangeFromTheSecondLookOn) {
  FileWatch watch(folder_ / "v1/rules");
  fs::remove(folder_ / "v1/rules");
  EXPECT_FALSE(watch.HasChanged(kNow));
  EXPECT_TRUE(watch.HasChanged(kNow));
  watch.NoteFailure(kNow);
  EXPECT_FALSE(watch.HasChanged(kNow));
}

TEST_F(FileWatchTest, AMissingFileIsNoChangeAndItsReturnIs) {
  FileWatch watch(folder_ / "v1/rules");
  fs::remove(folder_ / "v1/rules");
  EXPECT_FALSE(watch.HasChanged(kNow));
  Write("v1/rules", "33");
  EXPECT_TRUE(LookTwice(watch, kNow));
}

}  // namespace
}  // namespace weir::app
