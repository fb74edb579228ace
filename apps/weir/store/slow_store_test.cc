// Verbs on a store that is slow but completes each request in time.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/weir/command.h"
#include "apps/weir/files.h"
#include "apps/weir/testing/process_context_fixture.h"
#include "weir/base/testing/temp_folder_fixture.h"
#include "weir/runtime/await.h"
#include "weir/store/memory/memory_backend.h"

namespace weir::app {
namespace {

using testing::HasSubstr;

/// The simulated duration of requests, and the numbers of reads.
struct Pace {
  nanoseconds page{0};    ///< for ten items
  nanoseconds change{0};  ///< for one change of a list
  int pages = 0;
  std::size_t items = 0;
};

/// Passes requests on. A request that would exceed its deadline is not made.
class SlowConfig final : public ConfigStore {
 public:
  SlowConfig(ConfigStore& inner, sim::SimClock& clock, Pace& pace)
      : inner_(inner), clock_(clock), pace_(pace) {}

  void GetLimits(std::span<const Level> levels, Deadline deadline,
                 Done<std::vector<std::optional<LevelLimits>>> done) override {
    inner_.GetLimits(levels, deadline, std::move(done));
  }
  void ListLimits(const LevelFilter& filter, const PageRequest& page, Deadline deadline,
                  Done<Page<LevelRecord>> done) override {
    if (!Spend(pace_.page, deadline)) return done(Late());
    inner_.ListLimits(filter, Short(page), deadline, Counted(std::move(done)));
  }
  void GetEntities(std::span<const std::string> ids, Deadline deadline,
                   Done<std::vector<std::optional<EntityRecord>>> done) override {
    inner_.GetEntities(ids, deadline, std::move(done));
  }
  void ListEntities(const std::optional<std::string>& parent, const PageRequest& page,
                    Deadline deadline, Done<Page<EntityRecord>> done) override {
    if (!Spend(pace_.page, deadline)) return done(Late());
    inner_.ListEntities(parent, Short(page), deadline, Counted(std::move(done)));
  }
  void Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done) override {
    const auto count = static_cast<std::int64_t>(changes.size());
    if (!Spend(pace_.change * count, deadline)) return done(Late());
    inner_.Apply(std::move(changes), deadline, std::move(done));
  }

 private:
  bool Spend(nanoseconds time, Deadline deadline) {
    clock_.Advance(time);
    return !deadline.ExpiredAt(clock_.Now());
  }
  static tl::unexpected<Error> Late() { return Fail(Code::kDeadlineExceeded, "too slow"); }
  static PageRequest Short(const PageRequest& page) {
    return {.cursor = page.cursor, .limit = std::min<std::size_t>(page.limit, 10)};
  }
  template <class T>
  Done<Page<T>> Counted(Done<Page<T>> done) {
    return [this, done = std::move(done)](Result<Page<T>> page) mutable {
      ++pace_.pages;
      if (page) pace_.items += page->items.size();
      done(std::move(page));
    };
  }

  ConfigStore& inner_;
  sim::SimClock& clock_;
  Pace& pace_;
};

class SlowBackend final : public Backend {
 public:
  SlowBackend(Backend& inner, sim::SimClock& clock, Pace& pace)
      : inner_(inner), config_(inner.config(), clock, pace) {}
  BucketStore& buckets() override { return inner_.buckets(); }
  ConfigStore& config() override { return config_; }
  NamespaceStore& namespaces() override { return inner_.namespaces(); }
  Status Close() override { return {}; }
  std::string Describe() const override { return inner_.Describe(); }

 private:
  Backend& inner_;
  SlowConfig config_;
};

class SlowStoreTest : public WorldTest {
 protected:
  SlowStoreTest() : WorldTest({{"WEIR_STORE", "memory:"}}) {
    process_.open_backend = [this](const std::string&) -> Result<std::unique_ptr<Backend>> {
      return std::make_unique<SlowBackend>(*backend_, scheduler_.sim_clock(), pace_);
    };
  }

  /// Runs `limits apply` on a file with `count` resources.
  Exit ApplyResources(int count) {
    std::string yaml = "namespace: default\nresources:\n";
    for (int i = 0; i < count; ++i) yaml += fmt::format("  r{:04}: {{limits: {{rpm: 60}}}}\n", i);
    EXPECT_TRUE(WriteFile(file_, yaml));
    return RunArgs({"limits", "apply", file_, "--yes"});
  }

  const TempFolder folder_;
  const std::string file_ = folder_ / "limits.yaml";
  const std::unique_ptr<Backend> backend_ = MakeMemoryBackend({}, &scheduler_.clock());
  Pace pace_;
};

// Fails if: all pages that `limits apply` and similar verbs read share one deadline.
TEST_F(SlowStoreTest, Z5EachPageOfAListingHasADeadlineOfItsOwn) {
  ASSERT_EQ(ApplyResources(60), Exit::kDone) << err_.str();
  pace_ = {.page = std::chrono::seconds(20)};
  const std::vector<std::vector<std::string>> reading = {
      {"limits", "plan", file_}, {"limits", "apply", file_, "--yes"},
      {"limits", "diff", file_}, {"limits", "export"},
      {"entity", "list"},        {"resource", "list"}};
  for (const std::vector<std::string>& args : reading) {
    pace_.pages = 0;
    EXPECT_EQ(RunArgs(args), Exit::kDone) << args[0] << " " << args[1] << ": " << err_.str();
    EXPECT_GE(pace_.pages, 6) << args[0] << " " << args[1];
  }
}

// Fails if: `limits apply` has the same time for any number of changes.
TEST_F(SlowStoreTest, Z5TheTimeToWriteGrowsWithTheChanges) {
  pace_ = {.change = std::chrono::milliseconds(60)};
  EXPECT_EQ(ApplyResources(1000), Exit::kDone) << "60 s of 80: " << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("r0999"));
}

// Fails if: the verb waits for a request without a result longer than one request may take.
TEST_F(SlowStoreTest, Z5OneSlowRequestEndsTheCommand) {
  pace_ = {.page = std::chrono::seconds(31)};
  EXPECT_EQ(ApplyResources(1), Exit::kFailed);
  EXPECT_THAT(err_.str(), HasSubstr("too slow"));
  EXPECT_EQ(pace_.pages, 0);
}

// Fails if: the whole namespace is read to show one entity.
TEST_F(SlowStoreTest, Z6OneEntityIsShownFromWhatBelongsToIt) {
  std::vector<ConfigChange> changes;
  for (int i = 0; i < 100; ++i) {
    const std::string id = fmt::format("e{:03}", i);
    changes.emplace_back(CreateEntity{{.entity = {.id = id, .name = id}}});
    changes.emplace_back(
        PutLimits{Level::Entity(id, "llm"), {.limits = {{"rpm", PerMinute(i + 1)}}}});
    changes.emplace_back(PutLimits{Level::EntityDefault(id), {.limits = {{"rpm", PerMinute(7)}}}});
  }
  ASSERT_TRUE(Await<void>([&](Done<void> done) {
    backend_->config().Apply(std::move(changes), Deadline::Never(), std::move(done));
  }));
  ASSERT_EQ(RunArgs({"entity", "show", "e042"}), Exit::kDone) << err_.str();
  EXPECT_EQ(pace_.pages, 1);
  EXPECT_EQ(pace_.items, 2U);
  EXPECT_THAT(out_.str(), HasSubstr("name      e042"));
  EXPECT_THAT(out_.str(), HasSubstr("limits    _default_: "));
  EXPECT_THAT(out_.str(), HasSubstr("limits    llm: "));
  EXPECT_EQ(RunArgs({"entity", "show", "e100"}), Exit::kFailed);
  EXPECT_THAT(err_.str(), HasSubstr("entity e100 does not exist"));
}

// Fails if: an entity that has limits but no record is not found.
TEST_F(SlowStoreTest, Z6AnEntityWithLimitsAloneIsShown) {
  const PutLimits put{Level::Entity("acme", "llm"), {.limits = {{"rpm", PerMinute(5)}}}};
  ASSERT_TRUE(Await<void>([&](Done<void> done) {
    backend_->config().Apply({put}, Deadline::Never(), std::move(done));
  }));
  EXPECT_EQ(RunArgs({"entity", "show", "acme"}), Exit::kDone) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("limits    llm: "));
}

}  // namespace
}  // namespace weir::app
