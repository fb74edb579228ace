#include "weir/embedded/file/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "weir/embedded/testing/embedded_fixture.h"

namespace weir {
namespace {

using testing::HasSubstr;

class FileLockTest : public testing::Test {
 protected:
  TempFolder folder_;
  std::string path_ = folder_ / "weir.db";
};

TEST_F(FileLockTest, ASecondOwnerIsToldWhoHasIt) {
  const auto lock = FileLock::Take(path_, kNow);
  ASSERT_TRUE(lock) << lock.error().message;
  const auto second = FileLock::Take(path_, kNow + std::chrono::hours(1));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kUnavailable);
  EXPECT_EQ(
      second.error().message,
      fmt::format("sqlite:{}: in use by process {} since 2026-01-01T00:00:00Z; stop it or use "
                  "another file",
                  path_, getpid()));
}

TEST_F(FileLockTest, U6WhoWaitsGetsTheLockWhenTheOwnerGoes) {
  auto first = std::make_optional(*FileLock::Take(path_, kNow));
  int looks = 0;
  const LockWait wait{.longest = std::chrono::seconds(5), .sleep = [&](nanoseconds) {
                        if (++looks == 10) first.reset();
                      }};
  EXPECT_TRUE(FileLock::Take(path_, kNow, wait));
  EXPECT_EQ(looks, 10);
}

TEST_F(FileLockTest, U6AWaitEndsWithTheOwnersName) {
  const auto first = FileLock::Take(path_, kNow);
  nanoseconds waited{0};
  const LockWait wait{.longest = std::chrono::seconds(5),
                      .sleep = [&](nanoseconds time) { waited += time; }};
  const auto second = FileLock::Take(path_, kNow, wait);
  ASSERT_FALSE(second);
  EXPECT_EQ(waited, std::chrono::seconds(5));
  EXPECT_THAT(second.error().message, HasSubstr(fmt::format("process {}", getpid())));
}

// Fails if: a process that waits for the file is refused because of the guard of the owner before
// it.
TEST_F(FileLockTest, U6TheGuardIsAwaitedToo) {
  std::ofstream(path_) << "a file";
  const std::string link = folder_ / "link.db";
  std::filesystem::create_hard_link(path_, link);
  auto first = std::make_optional(*FileLock::Take(path_, kNow));
  ASSERT_TRUE(first->GuardInode(path_));
  auto second = FileLock::Take(link, kNow);
  ASSERT_TRUE(second);
  int looks = 0;
  const LockWait wait{.longest = std::chrono::seconds(5), .sleep = [&](nanoseconds) {
                        if (++looks == 10) first.reset();
                      }};
  EXPECT_TRUE(second->GuardInode(link, wait));
  EXPECT_EQ(looks, 10);
}

// Fails if: the error of the file itself names the lock file.
TEST_F(FileLockTest, AFileThatCannotBeOpenedIsNamed) {
  auto lock = FileLock::Take(path_, kNow);
  ASSERT_TRUE(lock);
  const Status guarded = lock->GuardInode(path_);
  ASSERT_FALSE(guarded);
  EXPECT_EQ(guarded.error().message,
            fmt::format("sqlite:{0}: cannot open {0}: No such file or directory", path_));
}

TEST_F(FileLockTest, LeavesNothingBehind) {
  {
    const auto lock = FileLock::Take(path_, kNow);
    EXPECT_TRUE(FileExists(path_ + "-lock"));
  }
  EXPECT_FALSE(FileExists(path_ + "-lock"));
  EXPECT_TRUE(FileLock::Take(path_, kNow));
}

TEST_F(FileLockTest, AFileLeftBehindByAKilledProcessIsHarmless) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto lock = FileLock::Take(path_, kNow);
    const char taken = lock ? 'y' : 'n';
    if (write(ready[1], &taken, 1) == 1) pause();
    _exit(0);
  }
  char taken = 0;
  ASSERT_EQ(read(ready[0], &taken, 1), 1);
  ASSERT_EQ(taken, 'y');
  const auto refused = FileLock::Take(path_, kNow);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr(fmt::format("process {} since", child)));

  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  close(ready[0]);
  close(ready[1]);
  EXPECT_TRUE(FileExists(path_ + "-lock"));
  const auto lock = FileLock::Take(path_, kNow);
  ASSERT_TRUE(lock) << lock.error().message;
  EXPECT_EQ(ReadFile(path_ + "-lock"),
            fmt::format("process {} since 2026-01-01T00:00:00Z\n", getpid()));
}

TEST_F(FileLockTest, MovesWithItsOwner) {
  auto first = FileLock::Take(path_, kNow);
  ASSERT_TRUE(first);
  {
    const FileLock second = *std::move(first);
    EXPECT_FALSE(FileLock::Take(path_, kNow));
  }
  EXPECT_TRUE(FileLock::Take(path_, kNow));
}

TEST_F(FileLockTest, SaysWhyItCannotBeTaken) {
  const auto no_folder = FileLock::Take(folder_ / "missing/weir.db", kNow);
  ASSERT_FALSE(no_folder);
  EXPECT_EQ(no_folder.error().code, Code::kNotFound);
  EXPECT_THAT(no_folder.error().message, HasSubstr("weir.db-lock: No such file or directory"));

  WriteFile(folder_ / "file", "");
  const auto in_file = FileLock::Take(folder_ / "file/weir.db", kNow);
  ASSERT_FALSE(in_file);
  EXPECT_EQ(in_file.error().code, Code::kNotFound);
}

}  // namespace
}  // namespace weir
