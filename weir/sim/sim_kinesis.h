// A Kinesis that lives in a test: AWS's operations by their wire form (API version 2013-12-02, JSON
// protocol 1.1 or CBOR 1.1), atomic and immediate.
//
// Known operations: PutRecords, PutRecord, ListShards, GetShardIterator, GetRecords,
// DescribeStreamSummary, CreateStream, SplitShard, MergeShards. A stream is active as soon as it is
// created, split or merged. A request field that is not simulated is refused by name, so that
// nothing is ignored in silence.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/time.h"
#include "weir/sim/kinesis_delivery.h"
#include "weir/sim/kinesis_quota.h"
#include "weir/sim/sim_server.h"

namespace weir::sim {

class KinesisStream;

struct KinesisOptions {
  KinesisLimits limits{};                                ///< of one shard
  std::size_t max_record_bytes = std::size_t{1} << 20;   ///< of the data of one record
  std::size_t max_request_bytes = std::size_t{5} << 20;  ///< of a PutRecords: data and keys
  std::size_t most_listed = 1000;      ///< shards in a page, whatever is asked for
  std::size_t most_open_shards = 500;  ///< of a stream; more are refused
};

/// Probabilities. Each request draws the same number of times whichever are set, and so does each
/// entry of one.
struct KinesisFaults {
  double throttle = 0;     ///< an entry: refused for its shard's rate, which it does not use
  double fail_before = 0;  ///< an entry: InternalFailure, not stored
  double fail_after = 0;   ///< an entry: InternalFailure, and stored
  double miscount = 0;     ///< an answer to PutRecords with one entry less or one more
  double refuse_list = 0;  ///< ListShards: LimitExceededException
  double reshard = 0;      ///< before a PutRecords or PutRecord, a shard of its stream is split, or
                           ///< merged with the one above it
  double error = 0;        ///< of any request: status 500; half of them were carried out
};

/// What was asked, and what happened to it. A test asserts that its faults fired.
struct KinesisCounts {
  std::map<std::string, std::uint64_t, std::less<>> requests;  ///< by operation, however answered
  std::uint64_t stored = 0;                                    ///< records
  std::uint64_t over_limit = 0;  ///< records that their shard's limit refused
  std::uint64_t throttled = 0;   ///< by fault, as all below
  std::uint64_t failed_before = 0;
  std::uint64_t failed_after = 0;
  std::uint64_t miscounted = 0;
  std::uint64_t refused_lists = 0;
  std::uint64_t splits = 0;
  std::uint64_t merges = 0;
  std::uint64_t errors = 0;
  std::uint64_t invalid = 0;  ///< requests that no client should send: answered with 400, neither a
                              ///< throttle nor a fault

  std::uint64_t Requests(std::string_view operation) const;
};

/// Not thread-safe. The clock must outlive it: limits follow its monotonic time, all that expires
/// and the times of records its wall time.
class SimKinesis final : public SimServer {
 public:
  SimKinesis(const Clock& clock, std::uint64_t seed, const KinesisOptions& options = {});
  ~SimKinesis() override;
  SimKinesis(const SimKinesis&) = delete;
  SimKinesis& operator=(const SimKinesis&) = delete;

  HttpResponse Handle(const HttpRequest& request) override;

  /// As the operations of these names, of shards by their number; Split in the middle. REQUIRES:
  /// that the operation would be good.
  void CreateStream(const std::string& name, std::uint64_t shards);
  void Split(std::string_view stream, std::uint64_t shard);
  void Merge(std::string_view stream, std::uint64_t one, std::uint64_t other);

  /// Null if there is none of that name. For oracles: looking costs nothing and changes nothing.
  const KinesisStream* Stream(std::string_view name) const;
  /// What a consumer would have delivered by now (kinesis_delivery.h), each shard in its order,
  /// parents before their children. REQUIRES: the stream is there.
  std::vector<Delivery> Delivered(std::string_view stream) const;

  /// May be changed between requests.
  KinesisFaults faults;
  const KinesisCounts& counts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weir::sim
