// Usage that a file counts, over restarts, kills and evictions.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <memory>
#include <ostream>

#include "weir/embedded/reading_backend.h"
#include "weir/embedded/testing/embedded_fixture.h"
#include "weir/runtime/await.h"

namespace weir {
namespace {

class EmbeddedUsageTest : public EmbeddedTest {
 protected:
  void Advance(nanoseconds d) { client_.scheduler().Advance(d); }
};

Charge Millitokens(const TargetPtr& target, std::int64_t amount) { return {target, {amount}}; }

// Fails if: the open hour is not in the file, or is added again when it has ended.
TEST_F(EmbeddedUsageTest, AnHourGoesOnAfterARestart) {
  const TargetPtr acme = StillTarget("acme");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client_.Open());
    ASSERT_TRUE(client_.Acquire({Take(acme, 2)}));
    ASSERT_TRUE(client_.Close());
  }
  ASSERT_TRUE(client_.Open());
  Advance(std::chrono::hours(1));
  ASSERT_TRUE(client_.Acquire({Take(acme, 1)}));
  const auto hours = client_.Usage("acme");
  ASSERT_EQ(hours.size(), 2U);
  EXPECT_EQ(hours[0].used.at("rpm"), 1);
  EXPECT_EQ(hours[1].used.at("rpm"), 6);
  EXPECT_EQ(hours[1].events, 3);
  EXPECT_EQ(SumOf(client_.Usage("acme", UsageWindow::kMonthly), "rpm"), 7);
}

// Fails if: a bucket that leaves because it is full takes its use along.
TEST_F(EmbeddedUsageTest, ABucketThatLeavesStaysCounted) {
  const TargetPtr acme = MakeTarget({"acme", "gpt-4", 0}, {{"rpm", PerMinute(60)}});
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Millitokens(acme, 1500)}));
  for (int i = 0; i < 4; ++i) {
    Advance(std::chrono::minutes(3));
    ASSERT_TRUE(client_.Acquire({Take(StillTarget("other"), 1)}));
    client_.scheduler().RunAll();  // an idle file sweeps its buckets
  }
  EXPECT_FALSE(client_.Read(acme->key));
  EXPECT_EQ(SumOf(client_.Usage("acme"), "rpm"), 1);
  // A return to the bucket that left is counted, and the half token is not lost.
  ASSERT_TRUE(client_.Adjust({Millitokens(acme, -600)}));
  EXPECT_EQ(SumOf(client_.Usage("acme"), "rpm"), 0);
  ASSERT_TRUE(client_.Close());
  ASSERT_TRUE(client_.Open());
  EXPECT_EQ(SumOf(client_.Usage("acme"), "rpm"), 0);
  ASSERT_TRUE(client_.Adjust({Millitokens(acme, 100)}));
  EXPECT_EQ(SumOf(client_.Usage("acme"), "rpm"), 1);
}

// Fails if: a reader does not see the open hour, in the log of changes or in the table of buckets.
TEST_F(EmbeddedUsageTest, AReaderSeesWhatTheOwnerCounts) {
  const TargetPtr acme = StillTarget("acme");
  ASSERT_TRUE(client_.Open());
  const auto read = [&](std::optional<std::string> entity, std::optional<std::string> resource) {
    auto reader = OpenToRead(client_.path(), client_.scheduler().clock(),
                             {.buckets = false, .namespace_name = {}, .vfs = {}});
    EXPECT_TRUE(reader) << reader.error().message;
    const UsageFilter filter{.entity = std::move(entity),
                             .resource = std::move(resource),
                             .window = UsageWindow::kHourly,
                             .from = {},
                             .until = {}};
    auto page = Await<Page<UsageSnapshot>>([&](auto done) {
      (*reader)->usage().List(filter, {}, Deadline::Never(), std::move(done));
    });
    EXPECT_TRUE(page);
    return page ? page->items : std::vector<UsageSnapshot>();
  };
  for (int hour = 1; hour <= 2; ++hour) {
    ASSERT_TRUE(client_.Acquire({Take(acme, 2)}));
    client_.Commit();
    EXPECT_EQ(SumOf(read("acme", {}), "rpm"), 4 * hour - 2);
    client_.scheduler().RunAll();  // folds the log into the table
    EXPECT_EQ(SumOf(read("acme", {}), "rpm"), 4 * hour - 2);
    ASSERT_TRUE(client_.Acquire({Take(acme, 2)}));
    client_.Commit();
    EXPECT_EQ(SumOf(read({}, "gpt-4"), "rpm"), 4 * hour);
    EXPECT_EQ(read("acme", "gpt-4"), client_.Usage("acme"));
    Advance(std::chrono::hours(1));
  }
  EXPECT_TRUE(read("globex", {}).empty());
}

// Fails if: a damaged table of usage fails the commits, and so the decisions.
TEST_F(EmbeddedUsageTest, ADamagedTableOfUsageStopsNoDecision) {
  const TargetPtr acme = StillTarget("acme");
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(acme, 2)}));
  Advance(std::chrono::hours(1));
  ASSERT_TRUE(client_.Acquire({Take(acme, 1)}));
  ASSERT_TRUE(client_.Close());
  const std::string root =
      RunSql(client_.path(), "SELECT rootpage FROM sqlite_schema WHERE name = 'usage'").front();
  std::string file = ReadFile(client_.path());
  constexpr std::size_t kPage = 4096;
  file.replace((std::stoul(root) - 1) * kPage, kPage, std::string(kPage, '\x5E'));
  WriteFile(client_.path(), file);
  ASSERT_TRUE(client_.Open());
  for (int hour = 0; hour < 3; ++hour) {
    Advance(std::chrono::hours(1));
    EXPECT_TRUE(client_.Acquire({Take(acme, 1)}));
    client_.Commit();
  }
  EXPECT_EQ(client_.backend().stats().commit_failures, 0U);
  EXPECT_GT(client_.backend().stats().usage.lost, 0U);
  EXPECT_TRUE(client_.Close());
}

// Fails if: a file of the version before has no usage, or its buckets' use before counts as usage.
TEST_F(EmbeddedUsageTest, AnOlderFileBeginsToCount) {
  const TargetPtr acme = StillTarget("acme");
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(acme, 2)}));
  ASSERT_TRUE(client_.Close());
  RunSql(client_.path(),
         "DROP INDEX usage_by_rest; DROP INDEX usage_by_age; ALTER TABLE usage DROP COLUMN rest; "
         "ALTER TABLE bucket DROP COLUMN use; DROP TABLE setting; PRAGMA user_version = 5");
  ASSERT_TRUE(client_.Open());
  EXPECT_TRUE(client_.Usage("acme").empty());
  ASSERT_TRUE(client_.Acquire({Take(acme, 3)}));
  EXPECT_EQ(SumOf(client_.Usage("acme"), "rpm"), 3);
}

// Fails if: unreadable use empties its bucket, or is counted.
TEST_F(EmbeddedUsageTest, UseThatDoesNotReadIsLeftOut) {
  const TargetPtr acme = StillTarget("acme");
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Acquire({Take(acme, 2)}));
  ASSERT_TRUE(client_.Close());
  for (const char* use :
       {"[1,2]", "[490896,1,[1,2]]", "[490896,-1,[1]]", "{}", "[-2,1,[1]]", "[490896,1,[1],[]]",
        "[490896,1,[1],[[1,1,{\"rpm\":[1]}]]]", "[490896,1,"}) {
    RunSql(client_.path(), fmt::format("UPDATE bucket SET use = '{}'", use));
    ASSERT_TRUE(client_.Open());
    EXPECT_EQ(client_.backend().damage().count("bucket"), 1U) << use;
    EXPECT_TRUE(client_.Usage("acme").empty()) << use;
    EXPECT_EQ(client_.Balance(acme), 998 * kMillitokens) << use;
    ASSERT_TRUE(client_.Close());
  }
}

struct UseStep {
  enum Kind { kTake, kAdjust, kCommit, kIdle, kRestart, kKill };
  Kind kind;
  int entity;
  std::int64_t millitokens;
  std::int64_t minutes;  // since the step before
};

std::ostream& operator<<(std::ostream& out, const UseStep& step) {
  const char* const kinds[] = {"take", "adjust", "commit", "idle", "restart", "kill"};
  return out << "\n  +" << step.minutes << " min: " << kinds[step.kind] << " " << step.entity << " "
             << step.millitokens;
}

rc::Gen<UseStep> AnyUseStep() {
  using enum UseStep::Kind;
  return rc::gen::construct<UseStep>(
      rc::gen::weightedElement<UseStep::Kind>(
          {{8, kTake}, {6, kAdjust}, {2, kCommit}, {1, kIdle}, {1, kRestart}, {1, kKill}}),
      rc::gen::resize(100, rc::gen::inRange(0, 3)),
      rc::gen::resize(100, rc::gen::inRange<std::int64_t>(-2500, 2500)),
      rc::gen::weightedElement<std::int64_t>({{6, 0}, {4, 1}, {3, 59}, {1, 1500}, {1, 9000}}));
}

// A client that survives kills: it goes on with a copy of the files.
class KilledClients {
 public:
  explicit KilledClients(const std::string& path) { Reopen(path); }

  void Do(const UseStep& step) {
    client_->scheduler().Advance(std::chrono::minutes(step.minutes));
    const TargetPtr target = StillTarget("entity-" + std::to_string(step.entity));
    switch (step.kind) {
      case UseStep::kTake:
        RC_ASSERT(client_->Acquire({Millitokens(target, std::abs(step.millitokens))}).has_value());
        break;
      case UseStep::kAdjust:
        RC_ASSERT(client_->Adjust({Millitokens(target, step.millitokens)}).has_value());
        break;
      case UseStep::kCommit:
        client_->scheduler().RunNext();
        break;
      case UseStep::kIdle:
        client_->scheduler().RunAll();
        break;
      case UseStep::kRestart:
        RC_ASSERT(client_->Close().has_value());
        RC_ASSERT(client_->Open({.fold_bytes = 500}).has_value());
        break;
      case UseStep::kKill:
        Reopen(client_->CopyAsKilled());
        break;
    }
  }
  EmbeddedClient& client() { return *client_; }

 private:
  void Reopen(const std::string& path) {
    const UnixMillis now = client_ == nullptr ? kNow : client_->now();
    auto next = std::make_unique<EmbeddedClient>(path);
    next->scheduler().Advance(now - next->now());
    RC_ASSERT(next->Open({.fold_bytes = 500}).has_value());
    client_ = std::move(next);
  }

  std::unique_ptr<EmbeddedClient> client_;
};

// Fails if: after a kill at any point, the usage in the file is not that of the changes in the
// file, or parts of tokens are lost.
RC_GTEST_PROP(EmbeddedUsageProperty, UsageAndBucketsAgreeAfterKills, ()) {
  const auto steps = *rc::gen::resize(60, rc::gen::container<std::vector<UseStep>>(AnyUseStep()));
  const TempFolder folder;
  KilledClients clients(folder / "weir.db");
  const std::vector<std::string> none;
  // Buckets that are never full, and so never leave: a new one would not know their consumption.
  for (int i = 0; i < 3; ++i) clients.Do({UseStep::kTake, i, 200'001, 0});
  clients.client().scheduler().RunAll();
  for (const UseStep& step : steps) {
    clients.Do(step);
    if (step.kind >= UseStep::kRestart) RC_ASSERT(UsageThatDiffers(clients.client()) == none);
  }
  RC_ASSERT(UsageThatDiffers(clients.client()) == none);
}

}  // namespace
}  // namespace weir
