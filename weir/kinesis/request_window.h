// Requests on their way out: those that wait for their turn, and those that are under way.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "weir/kinesis/collector.h"

namespace weir::kinesis {

struct RequestWindowOptions {
  std::size_t max_requests = 24;                 ///< under way at once
  std::size_t max_bytes = std::size_t{4} << 20;  ///< of data and partition keys under way
  std::size_t max_shard_requests = 16;           ///< under way that hold records of one shard
};

/// A value. Requests leave in the order in which they came, except that one whose shards are busy
/// lets others pass. Nothing passes one that waits for bytes: smaller ones would do so without
/// end. One that is larger than max_bytes leaves alone.
class RequestWindow {
 public:
  using Request = Collector::Request;
  struct Flight {
    Request records;
    Instant began;
  };
  struct Sent {
    std::uint64_t id = 0;              ///< never 0
    const Request* records = nullptr;  ///< until Take
  };
  /// A user record under way that has expired.
  struct Overdue {
    const UserRecord* record = nullptr;  ///< until Take
    Instant began;                       ///< its request
  };

  explicit RequestWindow(const RequestWindowOptions& options) : options_(options) {}

  void Put(Request request);
  void PutFirst(Request request);
  /// The bytes of what Send would give; nothing: none may go.
  std::optional<std::size_t> NextBytes() const;
  /// The next that may go; it is under way then.
  std::optional<Sent> Send(Instant now);
  /// One that is under way no more; nothing where none of this id is.
  std::optional<Flight> Take(std::uint64_t id);
  /// As Take, leaving it; null where there is none.
  const Flight* UnderWay(std::uint64_t id) const;
  /// Appends the user records under way that expired at `by` or before, each once: it marks them
  /// as reported. They stay in their requests. A call costs what the requests with such a record
  /// hold.
  void ReportOverdue(Instant by, std::vector<Overdue>& out);
  /// When the first user record under way expires that is not reported.
  std::optional<Instant> OverdueWake() const;
  /// Takes what waits and has expired out of its requests.
  void TakeExpired(Instant now, std::vector<KinesisRecord>& out);
  /// When the first of what waits expires.
  std::optional<Instant> Wake() const { return expires_; }

  std::size_t in_flight() const { return under_way_.size(); }

  void TakeWaiting(std::vector<KinesisRecord>& out);
  std::vector<Flight> TakeUnderWay();

 private:
  /// What a request takes of the bounds.
  struct Load {
    std::size_t bytes = 0;
    std::vector<std::optional<ShardId>> shards;  ///< each once
  };
  struct Waiting {
    Request records;
    Load load;
  };
  struct Out {
    Flight flight;
    Load load;
    std::optional<Instant> expires;  ///< the first that is not reported
  };
  using Expiry = std::pair<Instant, std::uint64_t>;

  /// When the first expires that is left.
  static std::optional<Instant> Report(Flight& flight, Instant by, std::vector<Overdue>& out);
  static Load LoadOf(const Request& request);
  std::deque<Waiting>::const_iterator Next() const;
  Waiting Admit(Request request);
  bool HasShardsFor(const Load& load) const;
  bool HasBytesFor(const Load& load) const;
  void Count(const Load& load);
  void Discount(const Load& load);

  RequestWindowOptions options_;
  std::deque<Waiting> waiting_;
  std::optional<Instant> expires_;  // the earliest of waiting_, or earlier
  std::map<std::uint64_t, Out> under_way_;
  std::set<Expiry> expiries_;  // of under_way_
  std::map<std::optional<ShardId>, std::size_t> shard_requests_;
  std::size_t bytes_ = 0;
  std::uint64_t next_id_ = 1;
};

}  // namespace weir::kinesis
