#include "weir/backends/open.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "weir/runtime/await.h"

namespace weir {
namespace {

using testing::HasSubstr;

class Open : public testing::Test {
 protected:
  Open() {
    std::string pattern = testing::TempDir() + "weir-open-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~Open() override { std::filesystem::remove_all(folder_); }

  SystemClock clock_;
  std::filesystem::path folder_;
};

Status SetRpm(Backend& backend) {
  return Await<void>([&](Done<void> done) {
    backend.config().Apply({PutLimits{Level::System(), {.limits = {{"rpm", PerMinute(10)}}}}},
                           Deadline::Never(), std::move(done));
  });
}

std::size_t SystemLimits(Backend& backend) {
  const Level system = Level::System();
  const auto found = Await<std::vector<std::optional<LevelLimits>>>([&](auto done) {
    backend.config().GetLimits({&system, 1}, Deadline::Never(), std::move(done));
  });
  return found && found->front() ? found->front()->limits.size() : 0;
}

TEST_F(Open, MemoryForgetsWithItsBackend) {
  {
    auto backend = OpenBackend("memory:", clock_);
    ASSERT_TRUE(backend.has_value());
    ASSERT_TRUE(SetRpm(**backend).has_value());
    EXPECT_EQ(SystemLimits(**backend), 1U);
  }
  auto again = OpenBackend("memory:", clock_);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(SystemLimits(**again), 0U);
}

TEST_F(Open, AFileRemembersByPathAndByUrl) {
  const std::string path = (folder_ / "state.db").string();
  {
    auto backend = OpenBackend("sqlite:" + path, clock_);
    ASSERT_TRUE(backend.has_value()) << backend.error().message;
    ASSERT_TRUE(SetRpm(**backend).has_value());
    ASSERT_TRUE((*backend)->Close().has_value());
  }
  auto again = OpenBackend("sqlite://" + path, clock_);
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(SystemLimits(**again), 1U);
  EXPECT_THAT((*again)->Describe(), HasSubstr(path));
}

TEST_F(Open, WhatIsNotKnownIsRefusedWithWhatIs) {
  for (const std::string url : {"", "memory", "memory:x", "sqlite:", "sqlite://host/file",
                                "redis://x", "/var/lib/weir.db"}) {
    const auto backend = OpenBackend(url, clock_);
    ASSERT_FALSE(backend.has_value()) << url;
    EXPECT_EQ(backend.error().code, Code::kInvalidArgument);
    EXPECT_THAT(backend.error().message, HasSubstr("'" + url + "'"));
    EXPECT_THAT(backend.error().message, HasSubstr("use memory:, sqlite:PATH"));
  }
}

TEST_F(Open, TheErrorOfTheFileIsToldAsItIs) {
  const auto backend = OpenBackend("sqlite:" + (folder_ / "missing" / "state.db").string(), clock_);
  ASSERT_FALSE(backend.has_value());
  EXPECT_NE(backend.error().code, Code::kInvalidArgument);
  EXPECT_THAT(backend.error().message, HasSubstr("state.db"));
}

}  // namespace
}  // namespace weir
