// Processes that share buckets over a bad network, and a ledger of the results that their callers
// got.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/rng.h"
#include "weir/dynamo/bucket_store.h"
#include "weir/dynamo/dynamo_fixture.h"
#include "weir/dynamo/sharding_fixture.h"

namespace weir::dynamo {

/// What happens to each request of a process: probabilities.
struct BadNetwork {
  double throttled = 0.03;  ///< writes, and they are not made
  double lost = 0;          ///< answers of writes that are made
  double slow = 0.05;       ///< up to 0.6 s each way; the others take up to 60 ms
  double stray = 0;         ///< up to 8 s each way, which is longer than a request is awaited
};

/// A request that has no answer at its deadline fails then, and arrives all the same.
class BadClient final : public JsonClient {
 public:
  BadClient(sim::SimServer& server, Scheduler& scheduler, std::uint64_t seed,
            const BadNetwork& network)
      : direct_(server), scheduler_(scheduler), rng_(seed), network_(network) {}
  void Call(JsonCall call, Deadline deadline, JsonDone done) override;

  /// From now on all is well.
  void Heal() { network_ = {.throttled = 0, .slow = 0}; }
  /// Requests that were throttled, or got no answer.
  std::uint64_t faults() const { return faults_; }

 private:
  struct Exchange;
  nanoseconds DrawTrip();

  DirectClient direct_;
  Scheduler& scheduler_;
  Rng rng_;
  BadNetwork network_;
  std::uint64_t faults_ = 0;
};

/// The answers of calls in sum.
struct ConservationTally {
  int asked = 0, answered = 0;
  int admitted = 0, refused = 0, contended = 0, failed = 0;
  int kept = 0;     ///< kDeadlineExceeded of AcquireAndKeep
  int flagged = 0;  ///< maybe_charged_twice
  int late = 0;     ///< answered more than 2 ms after its deadline
  std::uint64_t faults = 0;
  std::int64_t forfeits = 0;
};
ConservationTally& operator+=(ConservationTally& sum, const ConservationTally& other);

struct ConservationTerms {
  std::string name;
  int processes = 2;
  std::uint32_t shards = 2;  ///< of the parent's bucket
  double keeps = 0;          ///< of the calls: AcquireAndKeep
  BadNetwork network{};
};

/// One run. The children u0 and u1 have one shard each. All buckets have kRpm.
class ConservedFleet {
 public:
  ConservedFleet(std::uint64_t seed, const ConservationTerms& terms);

  /// Takes at random times of the next six seconds.
  void AskForTakes(int calls);
  bool Run() { return table_.scheduler.RunAll(5'000'000); }

  /// A result said that the charges count.
  void Note(const std::vector<Charge>& charges, std::int64_t times = 1);
  DynamoBucketStore& AnyStore();
  std::vector<Charge> DrawCharges(std::int64_t tokens);
  milliseconds DrawBelow(milliseconds longest);
  void HealAll();
  /// A description of differences. Empty: the table stores as taken exactly the tokens that results
  /// said. Flagged
  /// decisions and forfeits may be charged otherwise.
  std::string Compare();
  ConservationTally Tally() const;

  sim::SimScheduler& scheduler() { return table_.scheduler; }
  Rng& rng() { return rng_; }

 private:
  struct Process {
    Process(SimTable& shared, std::uint64_t seed, const BadNetwork& network);
    BadClient client;
    Table table;
    DynamoBucketStore store;
  };
  void Ask();
  void Answered(const std::vector<Charge>& charges, bool keeps, const Result<Decision>& decision);
  std::int64_t StoredOf(const std::string& entity);

  std::uint64_t seed_;
  ConservationTerms terms_;
  Rng rng_;
  SimTable table_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::map<std::string, std::int64_t> told_, flagged_;  // by entity; millitokens
  ConservationTally tally_;
};

}  // namespace weir::dynamo
