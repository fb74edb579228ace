// The verbs on records that a store cannot read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "apps/weir/command.h"
#include "apps/weir/files.h"
#include "apps/weir/testing/process_context_fixture.h"
#include "weir/base/testing/temp_folder_fixture.h"
#include "weir/store/memory/memory_backend.h"

namespace weir::app {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr char kDamage[] = "acme/llm shard 0: no number";

/// Passes requests on; each listing reports an unreadable record.
class DamagedBuckets final : public BucketStore {
 public:
  explicit DamagedBuckets(BucketStore& inner) : inner_(inner) {}
  UnixMillis Now() const override { return inner_.Now(); }
  void Acquire(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
               Done<Decision> done) override {
    inner_.Acquire(charges, now, deadline, std::move(done));
  }
  void Adjust(std::span<const Charge> charges, const AdjustTerms& terms, UnixMillis now,
              Deadline deadline, Done<void> done) override {
    ++adjusts;
    inner_.Adjust(charges, terms, now, deadline, std::move(done));
  }
  void Read(std::span<const BucketKey> keys, Deadline deadline,
            Done<std::vector<std::optional<BucketRecord>>> done) override {
    inner_.Read(keys, deadline, std::move(done));
  }
  void List(const BucketFilter&, const PageRequest&, Deadline,
            Done<Page<BucketRecord>> done) override {
    done(Page<BucketRecord>{.items = {}, .next = {}, .unreadable = {kDamage}});
  }
  int adjusts = 0;

 private:
  BucketStore& inner_;
};

class DamagedConfig final : public ConfigStore {
 public:
  explicit DamagedConfig(ConfigStore& inner) : inner_(inner) {}
  void GetLimits(std::span<const Level> levels, Deadline deadline,
                 Done<std::vector<std::optional<LevelLimits>>> done) override {
    inner_.GetLimits(levels, deadline, std::move(done));
  }
  void ListLimits(const LevelFilter&, const PageRequest&, Deadline,
                  Done<Page<LevelRecord>> done) override {
    done(Page<LevelRecord>{.items = {}, .next = {}, .unreadable = {kDamage}});
  }
  void GetEntities(std::span<const std::string> ids, Deadline deadline,
                   Done<std::vector<std::optional<EntityRecord>>> done) override {
    inner_.GetEntities(ids, deadline, std::move(done));
  }
  void ListEntities(const std::optional<std::string>&, const PageRequest&, Deadline,
                    Done<Page<EntityRecord>> done) override {
    done(Page<EntityRecord>{.items = {}, .next = {}, .unreadable = {kDamage}});
  }
  void Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done) override {
    inner_.Apply(std::move(changes), deadline, std::move(done));
  }

 private:
  ConfigStore& inner_;
};

class DamagedBackend final : public Backend {
 public:
  explicit DamagedBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}
  BucketStore& buckets() override { return buckets_; }
  ConfigStore& config() override { return config_; }
  Status Close() override { return inner_->Close(); }
  std::string Describe() const override { return inner_->Describe(); }

 private:
  std::unique_ptr<Backend> inner_;
  DamagedBuckets buckets_{inner_->buckets()};
  DamagedConfig config_{inner_->config()};
};

class UnreadableTest : public WorldTest {
 protected:
  UnreadableTest() : WorldTest({{"WEIR_STORE", "memory:"}}) {
    process_.open_backend = [this](const std::string&) -> Result<std::unique_ptr<Backend>> {
      return std::make_unique<DamagedBackend>(MakeMemoryBackend({}, &scheduler_.clock()));
    };
  }

  const TempFolder folder_;
  const std::string file_ = folder_ / "limits.yaml";
};

// Q7. Fails if: a bucket that cannot be read counts as full.
TEST_F(UnreadableTest, Q7ABucketThatCannotBeReadIsNotFull) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"bucket", "reset", "acme", "llm"},
        std::vector<std::string>{"bucket", "top-up", "acme", "llm", "rpm=1"}}) {
    EXPECT_EQ(RunArgs(args), Exit::kFailed);
    EXPECT_EQ(out_.str(), "");
    EXPECT_THAT(err_.str(), HasSubstr(std::string(kDamage) + "; nothing is changed"));
  }
  EXPECT_EQ(RunArgs({"buckets", "acme"}), Exit::kFailed);
  EXPECT_EQ(out_.str(), "");
  EXPECT_EQ(err_.str(), std::string("weir: left out: ") + kDamage + '\n');
  EXPECT_EQ(RunArgs({"buckets", "acme", "--json"}), Exit::kFailed);
  EXPECT_EQ(json::parse(out_.str())["left_out"], json::array({kDamage}));
}

// Q8. Fails if: records that were left out count as equal.
TEST_F(UnreadableTest, Q8ADiffOfAPartIsTrouble) {
  ASSERT_TRUE(WriteFile(file_, "namespace: default\n"));
  EXPECT_EQ(RunArgs({"limits", "diff", file_}), Exit::kUsage);
  EXPECT_THAT(out_.str(), Not(HasSubstr("say the same")));
  EXPECT_EQ(RunArgs({"limits", "diff", file_, "--json"}), Exit::kUsage);
  EXPECT_EQ(json::parse(out_.str())["left_out"], json::array({kDamage}));
}

// Fails if: one record that cannot be read hides all others.
TEST_F(UnreadableTest, AListNamesTheRecordsThatItLeavesOut) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"entity", "children", "org"},
        {"entity", "list", "--with-custom-limits", "llm"},
        {"entity", "list-resources"},
        {"system", "list"}}) {
    EXPECT_EQ(RunArgs(args), Exit::kDone) << args[1];
    EXPECT_THAT(out_.str(), Not(HasSubstr("no children")));
    EXPECT_THAT(out_.str(), Not(HasSubstr("no entity")));
    EXPECT_EQ(err_.str(), std::string("weir: left out: ") + kDamage + '\n') << args[1];
  }
}

// Fails if: the sum of a part looks like the sum of all.
TEST_F(UnreadableTest, TheCapacityOfAPartIsAFailure) {
  EXPECT_EQ(RunArgs({"resource", "capacity", "llm"}), Exit::kFailed);
  EXPECT_THAT(err_.str(), HasSubstr(kDamage));
}

// Fails if: a file that lacks a record is written, or incomplete output looks complete.
TEST_F(UnreadableTest, Q8APartIsNotExportedToAFile) {
  ASSERT_TRUE(WriteFile(file_, "old"));
  EXPECT_EQ(RunArgs({"limits", "export", file_, "--force"}), Exit::kFailed);
  EXPECT_EQ(ReadFile(file_), "old");
  EXPECT_THAT(err_.str(), HasSubstr("is not written: 1 records cannot be read, the first: "));
  EXPECT_EQ(RunArgs({"limits", "export"}), Exit::kFailed);
  EXPECT_THAT(out_.str(), HasSubstr("namespace: default"));
}

}  // namespace
}  // namespace weir::app
