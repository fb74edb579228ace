// Tests a backend whose Nth operation on the disk fails, for every N.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "weir/embedded/testing/embedded_fixture.h"
#include "weir/embedded/testing/faulty_vfs.h"

namespace weir {
namespace {

constexpr std::int64_t kCapacity = 1000;
constexpr int kChildren = 5;

std::string Child(int i) { return fmt::format("child-{}", i % kChildren); }

// The tokens that an entity used: at least those of calls that succeeded, at most those of all
// calls.
struct Spent {
  std::int64_t completed = 0;
  std::int64_t asked = 0;
};
using Ledger = std::map<std::string, Spent>;

struct FaultPlan {
  Durability durability = Durability::kStrict;
  FaultyVfs::Fault fault = FaultyVfs::Fault::kError;
  std::uint64_t more = 0;  // operations that fail after the first
};

// The life of a backend: it opens, is configured, decides, folds, deletes, decides again, and
// closes. Each step is taken even if an earlier one has failed.
class BackendLife {
 public:
  BackendLife(const FaultPlan& plan, const std::string& path) : plan_(plan), client_(path) {}

  // Lives with a disk on which the operation with this number fails.
  void Live(std::uint64_t number) {
    disk_.FailAt(number, plan_.fault, plan_.more);
    if (!Note(Open()) && !Note(Open()) && !Note(Open())) return;
    Note(client_.Apply({CreateEntity{{.entity = {.id = "gone"}}},
                        PutLimits{Level::System(), {.limits = {Still("rpm", 7)}}}}));
    for (int i = 0; i < 15; ++i) Acquire(i, 1 + i % 3);
    Idle();
    client_.scheduler().Advance(std::chrono::hours(1));
    for (int i = 0; i < 15; ++i) Acquire(i, 2);
    Note(client_.Apply({DeleteEntity{"gone"}}));
    Adjust(0, 40);
    Idle();
    Adjust(1, 50);
    noticed_ = client_.backend().stats().commit_failures > 0;
    Note(client_.Close());
  }

  std::uint64_t failures() const { return disk_.failures(); }
  // Returns whether a call has returned an error.
  bool told() const { return told_; }
  // Returns whether a commit has failed before closing.
  bool noticed() const { return noticed_; }
  const Ledger& ledger() const { return ledger_; }
  // The state after the first error: the ledger, and the files that a kill and a power loss would
  // have left.
  const Ledger& ledger_then() const { return ledger_then_; }
  const std::string& killed() const { return killed_; }
  const std::string& synced() const { return synced_; }

 private:
  Status Open() {
    return client_.Open({.durability = plan_.durability, .fold_bytes = 1500, .vfs = disk_.name()});
  }

  bool Note(const Status& status) {
    if (status) return true;
    if (!told_ && client_.is_open()) {
      ledger_then_ = ledger_;
      killed_ = client_.CopyAsKilled();
      synced_ = client_.path() + ".synced";
      disk_.CopySynced(client_.path(), synced_);
    }
    told_ = true;
    return false;
  }

  void Count(int child, std::int64_t tokens, const Status& result) {
    for (const std::string& entity : {Child(child), std::string("parent")}) {
      ledger_[entity].asked += tokens;
      if (result) ledger_[entity].completed += tokens;
    }
    if (Note(result)) return;
    client_.scheduler().RunNext();  // lets the commit be retried
  }

  std::vector<Charge> Charges(int child, std::int64_t tokens) {
    return {Take(StillTarget(Child(child), kCapacity), tokens),
            Take(StillTarget("parent", kCapacity), tokens)};
  }

  void Acquire(int child, std::int64_t tokens) {
    const auto decision = client_.Acquire(Charges(child, tokens));
    Count(child, tokens, decision.map([](const Decision& d) { EXPECT_TRUE(d.admitted); }));
  }
  void Adjust(int child, std::int64_t tokens) {
    Count(child, tokens, client_.Adjust(Charges(child, tokens)));
  }
  void Idle() { client_.scheduler().RunAll(); }

  const FaultPlan plan_;
  FaultyVfs disk_{"disk"};
  EmbeddedClient client_;
  Ledger ledger_;
  Ledger ledger_then_;
  bool told_ = false;
  bool noticed_ = false;
  std::string killed_;
  std::string synced_;
};

// Returns the tokens that each entity has used, by the file.
std::map<std::string, std::int64_t> ReadSpent(const std::string& path) {
  EmbeddedClient client(path);
  const Status opened = client.Open();
  EXPECT_TRUE(opened) << opened.error().message;
  std::map<std::string, std::int64_t> spent;
  if (!opened) return spent;
  for (const BucketRecord& record : client.List()) {
    spent[record.key.entity] = kCapacity - record.bucket.meters[0].tokens / kMillitokens;
  }
  EXPECT_TRUE(UsageThatDiffers(client).empty());
  return spent;
}

void ExpectWithin(const std::map<std::string, std::int64_t>& kept, const Ledger& ledger,
                  Durability durability) {
  std::int64_t children = 0;
  for (const auto& [entity, spent] : ledger) {
    const auto found = kept.find(entity);
    const std::int64_t used = found == kept.end() ? 0 : found->second;
    if (durability == Durability::kStrict) {
      EXPECT_GE(used, spent.completed) << entity;
    }
    EXPECT_LE(used, spent.asked) << entity;
    if (entity != "parent") children += used;
  }
  if (!kept.contains("parent")) return;
  EXPECT_EQ(kept.at("parent"), children) << "all charges or none";
}

class NthFailure : public testing::TestWithParam<FaultPlan> {};

TEST_P(NthFailure, LeavesNothingWrong) {
  const FaultPlan& plan = GetParam();
  TempFolder folder;
  std::uint64_t number = 0;
  std::uint64_t untold = 0;
  for (bool failed = true; failed;) {
    SCOPED_TRACE(fmt::format("operation {} fails", ++number));
    const std::string path = folder / fmt::format("{}.db", number);
    BackendLife life(plan, path);
    life.Live(number);
    failed = life.failures() > 0;
    if (failed && !life.told() && !life.noticed()) ++untold;
    const auto kept = ReadSpent(path);
    ExpectWithin(kept, life.ledger(), plan.durability);
    if (!life.told()) {
      for (const auto& [entity, spent] : life.ledger()) {
        EXPECT_EQ(kept.at(entity), spent.asked) << entity;
      }
    }
    if (!life.killed().empty()) {
      ExpectWithin(ReadSpent(life.killed()), life.ledger_then(), plan.durability);
    }
    if (plan.durability == Durability::kStrict && !life.synced().empty()) {
      ExpectWithin(ReadSpent(life.synced()), life.ledger_then(), plan.durability);
    }
    ASSERT_FALSE(HasFailure());
    ASSERT_LT(number, 2000U) << "it never passes untouched";
  }
  EXPECT_GT(number, 55U) << "the life has become too short to mean much";
  // A commit on a full disk is retried at once (C25), and at the end, stored changes are a success.
  if (plan.fault == FaultyVfs::Fault::kFull) return;
  // SQLite ignores an error of removing a write-ahead log whose contents are in the file already.
  EXPECT_LE(untold, 1U) << "failures that nobody was told of, though nothing was lost";
}

std::string FaultPlanName(const testing::TestParamInfo<FaultPlan>& info) {
  constexpr const char* kFaults[] = {"error", "full", "short_write"};
  return fmt::format(
      "{}_{}_{}", info.param.durability == Durability::kStrict ? "strict" : "relaxed",
      kFaults[static_cast<int>(info.param.fault)], info.param.more == 0 ? "once" : "for_a_while");
}

using enum FaultyVfs::Fault;
INSTANTIATE_TEST_SUITE_P(Embedded, NthFailure,
                         testing::Values(FaultPlan{Durability::kStrict, kError},
                                         FaultPlan{Durability::kStrict, kFull},
                                         FaultPlan{Durability::kStrict, kShortWrite},
                                         FaultPlan{Durability::kStrict, kError, 4},
                                         FaultPlan{Durability::kRelaxed, kError},
                                         FaultPlan{Durability::kRelaxed, kFull, 4}),
                         FaultPlanName);

}  // namespace
}  // namespace weir
