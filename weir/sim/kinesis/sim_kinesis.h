// A simulated Kinesis for tests: AWS's operations by their wire form (API version 2013-12-02, JSON
// protocol 1.1 or CBOR 1.1). Every operation is atomic and immediate.
//
// Operations: PutRecords, PutRecord, ListShards, GetShardIterator, GetRecords,
// DescribeStreamSummary, CreateStream, SplitShard, MergeShards. A stream is active as soon as it is
// created, split or merged. A request with a field that is not simulated is refused with an error
// that names the field.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/time.h"
#include "weir/sim/kinesis/kinesis_delivery.h"
#include "weir/sim/kinesis/kinesis_quota.h"
#include "weir/sim/sim_server.h"

namespace weir::sim {

class KinesisStream;

struct KinesisOptions {
  KinesisLimits limits{};  ///< the limits of one shard
  std::size_t max_record_bytes = std::size_t{1}
                                 << 20;  ///< the maximum size of the data of one record
  std::size_t max_request_bytes = std::size_t{5}
                                  << 20;  ///< the maximum size of a PutRecords: data and keys
  /// The maximum number of shards in a page of ListShards, even if the request allows more.
  std::size_t max_listed = 1000;
  std::size_t max_open_shards = 500;  ///< the maximum number of open shards of a stream; a change
                                      ///< that would exceed this is refused
};

/// Probabilities. Each request, and each entry of one, makes the same draws, whatever their values.
struct KinesisFaults {
  double throttle = 0;     ///< an entry is refused for its shard's rate; it uses none of that rate
  double fail_before = 0;  ///< an entry gets InternalFailure and is not stored
  double fail_after = 0;   ///< an entry gets InternalFailure and is stored
  double miscount = 0;     ///< the response of PutRecords has one entry too few or too many
  double refuse_list = 0;  ///< ListShards gets LimitExceededException
  double reshard = 0;      ///< before a PutRecords or PutRecord, a shard of its stream is split, or
                           ///< merged with the one above it
  double error = 0;  ///< a request gets status 500; with probability 1/2 it is carried out first
};

/// Counts requests, records and faults. Tests assert that their faults happened.
struct KinesisCounts {
  std::map<std::string, std::uint64_t, std::less<>> requests;  ///< keyed by operation
  std::uint64_t stored = 0;                                    ///< records
  std::uint64_t over_limit = 0;  ///< records refused by their shard's limit
  std::uint64_t throttled = 0;   ///< by a fault, as all of the following except `invalid`
  std::uint64_t failed_before = 0;
  std::uint64_t failed_after = 0;
  std::uint64_t miscounted = 0;
  std::uint64_t refused_lists = 0;
  std::uint64_t splits = 0;
  std::uint64_t merges = 0;
  std::uint64_t errors = 0;
  std::uint64_t invalid = 0;  ///< requests with a status 400 that is neither a throttle nor a
                              ///< fault: no client should send them

  std::uint64_t Requests(std::string_view operation) const;
};

/// Not thread-safe. The clock must outlive it. Limits use the clock's monotonic time; expiry and
/// the times of records use its wall time.
class SimKinesis final : public SimServer {
 public:
  SimKinesis(const Clock& clock, std::uint64_t seed, const KinesisOptions& options = {});
  ~SimKinesis() override;
  SimKinesis(const SimKinesis&) = delete;
  SimKinesis& operator=(const SimKinesis&) = delete;

  HttpResponse Handle(const HttpRequest& request) override;

  /// CreateStream, SplitShard and MergeShards without a request. Shards are identified by their
  /// numbers; Split splits in the middle. REQUIRES: the operation is valid.
  void CreateStream(const std::string& name, std::uint64_t shards);
  void Split(std::string_view stream, std::uint64_t shard);
  void Merge(std::string_view stream, std::uint64_t one, std::uint64_t other);

  /// Returns null if no stream has that name. For test oracles: reading it costs and changes
  /// nothing.
  const KinesisStream* Stream(std::string_view name) const;
  /// Returns the records that a consumer would have delivered by now (kinesis_delivery.h): each
  /// shard in its order, parents before their children. REQUIRES: the stream exists.
  std::vector<Delivery> Delivered(std::string_view stream) const;

  /// May be changed between requests.
  KinesisFaults faults;
  const KinesisCounts& counts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weir::sim
