// weir entity update on a table that other clients use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "apps/weir/testing/process_context_fixture.h"
#include "weir/store/memory/memory_backend.h"
#include "weir/zae_table/testing/parent_propagation_fixture.h"

namespace weir::app {
namespace {

using testing::HasSubstr;

/// The configuration of a simulated table.
class ConfigOfTable final : public Backend {
 public:
  explicit ConfigOfTable(ConfigStore& config) : config_(config) {}
  BucketStore& buckets() override { return rest_->buckets(); }
  ConfigStore& config() override { return config_; }
  Status Close() override { return {}; }
  std::string Describe() const override { return "a table"; }

 private:
  ConfigStore& config_;
  std::unique_ptr<Backend> rest_ = MakeMemoryBackend();
};

class EntityUpdateTest : public WorldTest {
 protected:
  EntityUpdateTest() : WorldTest({{"WEIR_STORE", "memory:"}}) {
    process_.open_backend = [this](const std::string&) -> Result<std::unique_ptr<Backend>> {
      return std::make_unique<ConfigOfTable>(table_.store);
    };
  }

  dynamo::Shared table_;
};

// Fails if: a record that is already stored is not put again.
TEST_F(EntityUpdateTest, TheSameCommandCompletesAnInterruptedPropagation) {
  ASSERT_EQ(RunArgs({"entity", "create", "acme", "--parent", "globex"}), Exit::kDone);
  const auto buckets = table_.PutBuckets("acme", {"llm", "llm2"});
  table_.client.FailFrom("UpdateItem", 3, FailureClass::kTransient);
  const std::vector<std::string> move{"entity",   "update",  "acme",
                                      "--parent", "initech", "--cascade"};
  EXPECT_EQ(RunArgs(move), Exit::kFailed);
  EXPECT_THAT(err_.str(), HasSubstr("entity acme: it is stored, but"));
  EXPECT_FALSE(table_.AllPropagated(buckets));
  table_.client.FailNoMore();
  EXPECT_EQ(RunArgs(move), Exit::kDone) << err_.str();
  EXPECT_TRUE(table_.AllPropagated(buckets));
  const dynamo::Item bucket = table_.At(buckets.front());
  const std::string* parent = dynamo::GetText(bucket, "parent_id");
  ASSERT_NE(parent, nullptr);
  EXPECT_EQ(*parent, "initech");
}

TEST_F(EntityUpdateTest, AnEntityWithoutParentChargesNoParent) {
  ASSERT_EQ(RunArgs({"entity", "create", "acme", "--parent", "globex", "--cascade"}), Exit::kDone);
  const auto buckets = table_.PutBuckets("acme", {"llm"});
  ASSERT_EQ(RunArgs({"entity", "update", "acme", "--no-parent"}), Exit::kDone) << err_.str();
  EXPECT_TRUE(table_.AllPropagated(buckets));
  EXPECT_EQ(dynamo::GetFlag(table_.At(buckets.front()), "cascade"), false);
  EXPECT_THAT(out_.str(), HasSubstr("parent    -\ncascade   no\n"));
}

}  // namespace
}  // namespace weir::app
