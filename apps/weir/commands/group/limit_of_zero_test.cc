// A limit of 0 on the command line, in memory and on a table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "apps/weir/testing/verb_run_fixture.h"
#include "weir/store/memory/memory_backend.h"
#include "weir/zae_table/dynamo_backend.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::app {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

// Lends a backend that outlives the verbs.
class LentBackend final : public Backend {
 public:
  explicit LentBackend(Backend& inner) : inner_(inner) {}
  BucketStore& buckets() override { return inner_.buckets(); }
  ConfigStore& config() override { return inner_.config(); }
  AuditLog& audit() override { return inner_.audit(); }
  Status Close() override { return {}; }
  std::string Describe() const override { return inner_.Describe(); }

 private:
  Backend& inner_;
};

class LimitOfZeroVerbs : public testing::TestWithParam<bool> {
 protected:
  LimitOfZeroVerbs() {
    process_.open_backend = [this](const std::string&) -> Result<std::unique_ptr<Backend>> {
      return std::make_unique<LentBackend>(backend());
    };
  }
  Backend& backend() { return GetParam() ? static_cast<Backend&>(table_) : *memory_; }

  std::string Run(std::vector<std::string> args, bool as_json = false) {
    const auto add = [](CLI::App& app, Action& chosen) {
      AddTry(app, chosen);
      AddResource(app, chosen);
      AddBucket(app, chosen);
    };
    const VerbEnd end =
        RunVerb(process_, std::move(args), add, {.store = "memory:", .json = as_json});
    exit_ = end.exit;
    error_ = end.error;
    return end.result;
  }

  dynamo::ZaeSimTable sim_;
  std::uint64_t random_ = 0;
  dynamo::DynamoBackend table_{
      {.client = sim_.client,
       .scheduler = sim_.scheduler,
       .table = "limits",
       .namespace_id = "ns",
       .sources = {.random = [this] { return ++random_ * 0x123456789ABCDEF; }}}};
  const std::unique_ptr<Backend> memory_ = MakeMemoryBackend({}, &sim_.scheduler.clock());
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  ProcessContext process_{.clock = sim_.scheduler.clock(),
                          .scheduler = sim_.scheduler,
                          .in = in_,
                          .out = out_,
                          .err = err_,
                          .environment = [](const std::string&) { return std::nullopt; },
                          .interrupted = [] { return false; }};
  Exit exit_ = Exit::kDone;
  std::string error_;
};

TEST_P(LimitOfZeroVerbs, BlocksUntilItIsReplaced) {
  Run({"resource", "set-limits", "llm", "-l", "rpm:10"});
  Run({"try", "acme", "llm", "rpm=7"});
  EXPECT_EQ(exit_, Exit::kDone) << error_;
  EXPECT_THAT(Run({"resource", "set-limits", "llm", "-l", "rpm:0", "-l", "tpm:5"}),
              HasSubstr("rpm           0       0    60s\n"));
  EXPECT_THAT(Run({"try", "acme", "llm", "rpm=1"}), StartsWith("refused, retry after never\n"));
  EXPECT_EQ(exit_, Exit::kRefused);
  const json refusal = json::parse(Run({"try", "acme", "llm", "rpm=1", "tpm=1"}, true));
  EXPECT_EQ(refusal["retry_after_ms"], nullptr);
  EXPECT_EQ(refusal["limits"][0]["capacity"], 0);
  EXPECT_THAT(Run({"bucket", "show", "acme", "llm", "rpm=1"}), StartsWith("never available"));
  EXPECT_EQ(exit_, Exit::kRefused);
  EXPECT_THAT(Run({"try", "acme", "llm", "tpm=5"}), StartsWith("admitted\n"));
  Run({"resource", "set-limits", "llm", "-l", "rpm:10"});
  EXPECT_THAT(Run({"try", "acme", "llm", "rpm=4"}), StartsWith("refused"));
  EXPECT_THAT(Run({"try", "acme", "llm", "rpm=3"}), StartsWith("admitted\n"));
}

TEST_P(LimitOfZeroVerbs, ABurstOf0IsRefused) {
  Run({"resource", "set-limits", "llm", "-l", "rpm:10:0"});
  EXPECT_EQ(exit_, Exit::kUsage);
  EXPECT_THAT(error_, HasSubstr("a rate of 0 alone, which blocks"));
}

INSTANTIATE_TEST_SUITE_P(Backends, LimitOfZeroVerbs, testing::Bool(),
                         [](const auto& one) { return one.param ? "Table" : "Memory"; });

}  // namespace
}  // namespace weir::app
