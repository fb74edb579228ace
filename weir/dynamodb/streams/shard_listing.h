// Lists the shards of a stream without I/O: pages of DescribeStream, repeated after an interval.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/aws/failure.h"
#include "weir/base/rng.h"
#include "weir/dynamodb/streams/consumer_step.h"
#include "weir/runtime/backoff.h"

namespace weir::dynamo {

/// Not thread-safe.
class ShardListing {
 public:
  using Response = tl::expected<std::string, AwsFailure>;
  /// A complete listing.
  struct Listed {
    std::vector<StreamShard> shards;
    Instant begun;  ///< the time at which the first request was made
  };

  /// `options` must outlive it.
  explicit ShardListing(const ConsumerOptions& options);

  /// Returns when the next request is due; nothing while one is in flight.
  std::optional<Instant> due() const;
  /// Returns the request for the next page, without an id. REQUIRES: it is due.
  ConsumerStep::Request MakeRequest(Instant now);
  /// Handles the response. Returns the shards if this was the last page. An error ends the
  /// consumer: the stream does not exist, permission is missing, or the stream has too many shards.
  Result<std::optional<Listed>> OnResponse(const Response& response, Instant now, Rng& rng,
                                           std::vector<ConsumerEvent>& events);
  /// Makes another listing begin soon after this call.
  void Want(Instant now);

 private:
  Result<std::optional<Listed>> OnPage(StreamPage page, Instant now);
  void TryAgain(const Error& error, bool is_throttle, Instant now, Rng& rng,
                std::vector<ConsumerEvent>& events);

  const ConsumerOptions& options_;
  bool in_flight_ = false;
  bool is_another_wanted_ = false;  ///< another listing must follow the current one soon
  bool failing_ = false;
  Instant due_{};
  Instant begun_{};
  std::string token_;  ///< the next page begins after this shard
  std::vector<StreamShard> found_;
  Backoff backoff_;
};

}  // namespace weir::dynamo
