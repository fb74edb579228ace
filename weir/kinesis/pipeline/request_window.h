// The requests of a stream that are pending or in flight.
//
//           Put            Send                   Take (response)
//   request ---> pending --------> in flight --------------------> returned
//                   |                  |
//                   |                  | ReportOverdue: records that expired long ago
//                   v                  v
//           TakeExpired: records     results; the records stay in the request
//           leave their requests
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "weir/kinesis/pipeline/collector.h"

namespace weir::kinesis {

struct RequestWindowOptions {
  std::size_t max_requests = 24;                 ///< in flight at once
  std::size_t max_bytes = std::size_t{4} << 20;  ///< of data and partition keys in flight
  std::size_t max_shard_requests = 16;           ///< in flight with records of one shard
};

/// A state machine without I/O; not thread-safe. Requests leave in the order in which they came,
/// except that a request with a shard that has max_shard_requests in flight lets others pass. No
/// request passes one that waits for bytes: otherwise smaller requests could pass it without end. A
/// request larger than max_bytes leaves when no other is in flight.
class RequestWindow {
 public:
  using Request = Collector::Request;
  struct Flight {
    Request records;
    Instant began;
  };
  struct Sent {
    std::uint64_t id = 0;              ///< never 0
    const Request* records = nullptr;  ///< valid until Take
  };
  /// A user record in flight that has expired.
  struct Overdue {
    const UserRecord* record = nullptr;  ///< valid until Take
    Instant began;                       ///< when its request was sent
  };

  explicit RequestWindow(const RequestWindowOptions& options) : options_(options) {}

  /// Adds a request behind the pending ones.
  void Put(Request request);
  /// Adds a request before the pending ones.
  void PutFirst(Request request);
  /// Returns the size in bytes of the request that Send would return; nothing if none may be sent.
  std::optional<std::size_t> NextBytes() const;
  /// Returns the next request that may be sent and counts it as in flight; nothing if none may be
  /// sent.
  std::optional<Sent> Send(Instant now);
  /// Removes and returns a request in flight; nothing if this id is not in flight.
  std::optional<Flight> Take(std::uint64_t id);
  /// Returns a request in flight and leaves it there; null if this id is not in flight.
  const Flight* Find(std::uint64_t id) const;
  /// Appends the user records in flight that expired at `by` or before, each once, and marks them
  /// as reported. They stay in their requests. The cost is proportional to the size of the requests
  /// that have such a record.
  void ReportOverdue(Instant by, std::vector<Overdue>& out);
  /// Returns when the first user record in flight that is not reported expires; nothing if there is
  /// none.
  std::optional<Instant> OverdueWake() const;
  /// Takes the expired records out of the pending requests. The cost is proportional to the number
  /// of pending requests, and to the size of those that have such a record.
  void TakeExpired(Instant now, std::vector<KinesisRecord>& out);
  /// Returns when the first pending record expires, or an earlier time; nothing if no record is
  /// pending.
  std::optional<Instant> NextWake() const { return expires_; }

  std::size_t in_flight() const { return in_flight_.size(); }

  /// Takes the records of all pending requests.
  void TakeWaiting(std::vector<KinesisRecord>& out);
  /// Takes all requests in flight.
  std::vector<Flight> TakeInFlight();

 private:
  /// The part of the limits that a request uses.
  struct Load {
    std::size_t bytes = 0;
    std::vector<std::optional<ShardId>> shards;  ///< each once
  };
  /// A pending request.
  struct Waiting {
    Request records;
    Load load;
    Instant expires;  ///< the earliest expiry of a record
  };
  /// A request in flight.
  struct InFlight {
    Flight flight;
    Load load;
    std::optional<Instant> expires;  ///< the earliest expiry of a user record that is not reported
  };
  using Expiry = std::pair<Instant, std::uint64_t>;

  /// Appends and marks the expired user records of one request. Returns the earliest expiry of the
  /// others; nothing if there are none.
  static std::optional<Instant> ReportRequest(Flight& flight, Instant by,
                                              std::vector<Overdue>& out);
  static Load LoadOf(const Request& request);
  /// Returns the pending request to send next; the end if none may be sent.
  std::deque<Waiting>::const_iterator NextToSend() const;
  static Waiting MakePending(Request request);
  /// Appends a request to waiting_.
  void Append(Waiting waiting);
  /// Notes that a record in waiting_ expires at this time.
  void LowerExpires(Instant expires);
  /// Returns whether no shard of a request has max_shard_requests in flight.
  bool HasShardsFor(const Load& load) const;
  /// Returns whether the bytes of a request fit; they always do if no request is in flight.
  bool HasBytesFor(const Load& load) const;
  /// Adds the load to the sums of the requests in flight, or subtracts it from them.
  void AddLoad(const Load& load);
  void RemoveLoad(const Load& load);

  RequestWindowOptions options_;
  std::deque<Waiting> waiting_;
  // The earliest expiry of a record in waiting_, or an earlier time.
  std::optional<Instant> expires_;
  std::map<std::uint64_t, InFlight> in_flight_;
  std::set<Expiry> expiries_;  // of the requests in in_flight_ with an expiry
  std::map<std::optional<ShardId>, std::size_t> shard_requests_;
  std::size_t bytes_ = 0;
  std::uint64_t next_id_ = 1;
};

}  // namespace weir::kinesis
