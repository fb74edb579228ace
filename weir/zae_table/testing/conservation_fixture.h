// Processes that share buckets over a bad network, and a ledger of the results that their callers
// got.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/rng.h"
#include "weir/zae_table/bucket/bucket_store.h"
#include "weir/zae_table/testing/sharding_fixture.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {

/// The probabilities of faults of a request.
struct BadNetwork {
  double throttled = 0.03;  ///< a write is throttled, and not applied
  double lost = 0;          ///< a write is applied, and its response is lost
  double slow = 0.05;       ///< a trip takes up to 0.6 s; the others take up to 60 ms
  double stray = 0;         ///< a trip takes up to 8 s, longer than the timeout of a request
};

/// The client of a process behind a bad network. A request without a response at its deadline fails
/// then, and still arrives at the server later.
class BadClient final : public JsonClient {
 public:
  BadClient(sim::SimServer& server, Scheduler& scheduler, std::uint64_t seed,
            const BadNetwork& network)
      : direct_(server), scheduler_(scheduler), rng_(seed), network_(network) {}
  void Call(JsonCall call, Deadline deadline, JsonDone done) override;

  /// Stops all faults of later requests.
  void Heal() { network_ = {.throttled = 0, .slow = 0}; }
  /// Returns the number of requests that were throttled, or got no response.
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

/// The numbers of calls and of their results.
struct ConservationTally {
  int asked = 0, completed = 0;
  int admitted = 0, refused = 0, contended = 0, failed = 0;
  int kept = 0;     ///< AcquireAndKeep that failed with kDeadlineExceeded
  int flagged = 0;  ///< decisions with maybe_charged_twice
  int late = 0;     ///< calls that completed more than 2 ms after their deadlines
  std::uint64_t faults = 0;
  std::int64_t forfeits = 0;
};
ConservationTally& operator+=(ConservationTally& sum, const ConservationTally& other);

struct ConservationTerms {
  std::string name;
  int processes = 2;
  std::uint32_t shards = 2;  ///< shards of the parent's bucket
  double keeps = 0;          ///< the share of calls that are AcquireAndKeep
  BadNetwork network{};
};

/// One run of processes on the buckets of "team" and of its children "u0" and "u1", which have one
/// shard each. All buckets have the limit kRpm.
class ConservedFleet {
 public:
  ConservedFleet(std::uint64_t seed, const ConservationTerms& terms);

  /// Schedules this number of takes at random times in the next six seconds.
  void AskForTakes(int calls);
  bool Run() { return table_.scheduler.RunAll(5'000'000); }

  /// Notes that a result reported the charges as taken, `times` times.
  void Note(const std::vector<Charge>& charges, std::int64_t times = 1);
  DynamoBucketStore& AnyStore();
  std::vector<Charge> DrawCharges(std::int64_t tokens);
  milliseconds DrawBelow(milliseconds longest);
  void HealAll();
  /// Returns a description of the differences between the stored consumption and the tokens that
  /// results reported as taken; empty: there are none. If there were forfeits, these and flagged
  /// decisions may be charged otherwise.
  std::string Compare();
  ConservationTally Tally() const;

  sim::SimScheduler& scheduler() { return table_.scheduler; }
  Rng& rng() { return rng_; }

 private:
  struct Process {
    Process(ZaeSimTable& shared, std::uint64_t seed, const BadNetwork& network);
    BadClient client;
    Table table;
    DynamoBucketStore store;
  };
  void Ask();
  void OnResult(const std::vector<Charge>& charges, bool keeps, const Result<Decision>& decision);
  std::int64_t StoredOf(const std::string& entity);

  std::uint64_t seed_;
  ConservationTerms terms_;
  Rng rng_;
  ZaeSimTable table_;
  std::vector<std::unique_ptr<Process>> processes_;
  // By entity, in millitokens: reported as taken; in decisions with maybe_charged_twice.
  std::map<std::string, std::int64_t> told_, flagged_;
  ConservationTally tally_;
};

}  // namespace weir::dynamo
