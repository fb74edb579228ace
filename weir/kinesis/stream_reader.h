// Reads a stream back without I/O: answers go in; requests, records and the next wake-up come out.
// Mechanism: docs/design/kinesis.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weir/aws/failure.h"
#include "weir/base/result.h"
#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/kinesis/read_wire.h"
#include "weir/kinesis/reader_step.h"
#include "weir/runtime/backoff.h"

namespace weir::kinesis {

/// Each record once, those of a shard in its order, and those of a shard's parents before its own.
/// A value; not thread-safe.
class StreamReader {
 public:
  using Answer = tl::expected<std::string, AwsFailure>;

  StreamReader(StreamAddress stream, const ReaderOptions& options, std::uint64_t seed);

  /// The first one begins.
  ReaderStep OnWake(Instant now);
  ReaderStep OnAnswer(std::uint64_t id, const Answer& answer, Instant now);
  const ReaderStats& stats() const { return stats_; }

 private:
  enum class Stage {
    kWaits,     ///< for its parents
    kBegins,    ///< needs an iterator
    kReads,     ///< has one
    kCaughtUp,  ///< open, and read to its end once
    kEnded,     ///< read to its end for good
  };
  /// Failures in a row of one kind of request.
  struct Tries {
    Backoff backoff;
    std::uint32_t failures = 0;
  };
  struct Reading {
    ReadShard shard;
    Stage stage = Stage::kWaits;
    Position position{};
    std::string iterator{};
    bool is_missing = false;  ///< the service knows no such shard, by its answer to a request
    Tries tries;
  };
  struct Listing {
    bool wanted = true;    ///< its first or next page
    bool again = false;    ///< from its first page, when the last one is there
    std::uint64_t id = 0;  ///< of the request that is under way; 0: none
    Instant due{};
    std::string token{};
    std::vector<ReadShard> found{};
    std::size_t pages = 0;  ///< of `found`
    Tries tries;
  };

  ReaderStep Go(Instant now);
  ReaderStep::Ask AskList();
  ReaderStep::Ask AskShard(ShardId id);
  std::optional<Instant> Wake() const;
  bool finished() const;

  Status Take(std::uint64_t id, const Answer& answer, Instant now, ReaderStep& step);
  Status OnListing(const Answer& answer, Instant now);
  Status OnListingFailed(const AwsFailure& failure, Instant now);
  Status OnShard(Reading& reading, const Answer& answer, Instant now, ReaderStep& step);
  Status OnShardFailed(Reading& reading, const AwsFailure& failure, Instant now);
  void OnPage(Reading& reading, RecordPage page, Instant now, ReaderStep& step);
  void Deliver(const ReadShard& shard, const StoredRecord& stored, ReaderStep& step);
  Result<Instant> TryAgain(Tries& tries, const AwsFailure& failure, Instant now);
  void Succeed(Tries& tries);

  Status OnListed(Instant now);
  /// kNotFound: an open shard is listed, and cannot be read.
  Status CheckReadable(const ReadShard& shard) const;
  void Learn(const ReadShard& shard, Instant now);
  void MarkClosed(Reading& reading, Instant now);
  bool HasChild(ShardId parent) const;
  void WantListing();
  void OpenReady(Instant now);
  void Ask(Reading& reading, Stage stage, Instant due);
  void Close(Reading& reading, const std::vector<ReadShard>& children, Instant now);

  const StreamAddress stream_;
  const ReaderOptions options_;
  Rng rng_;
  std::map<ShardId, Reading> readings_;
  std::set<std::pair<Instant, ShardId>> due_;  // kBegins and kReads, not under way
  std::map<std::uint64_t, ShardId> under_way_;
  std::size_t ended_ = 0;
  std::size_t failing_ = 0;             // Tries with failures
  std::optional<Error> first_failure_;  // since there were none
  bool listed_ = false;                 // once, to the end
  Listing listing_;
  std::uint64_t next_id_ = 1;
  ReaderStats stats_;
};

}  // namespace weir::kinesis
