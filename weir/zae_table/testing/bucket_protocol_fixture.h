// A BucketProtocol on a simulated table. The test carries out the protocol's requests one by one,
// in any order, and changes the table in between as other processes do.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/zae_table/actor/bucket_protocol.h"
#include "weir/zae_table/testing/sharding_fixture.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {

/// Buckets are named by their entity; the resource is "llm".
class BucketProtocolTest : public testing::Test {
 protected:
  using Request = BucketProtocol::Step::Send;
  struct Ask {
    std::string entity;
    std::int64_t tokens = 0;
  };
  struct Terms {
    milliseconds patience = std::chrono::seconds(20);
    bool keeps = false;
    CallRequest::Kind kind = CallRequest::Kind::kAcquire;
    Limit limit = kRpm;
    LimitSource source = LimitSource::kConfigured;
    bool is_recorded = false;
    std::optional<AdjustId> adjust_id{};          ///< nothing: a new one
    std::optional<milliseconds> counts_within{};  ///< AdjustTerms::counts_by, from `now` on
    milliseconds paused{0};                       ///< the time since the caller has read `now`
  };
  /// The result of a call; nothing while the call is pending.
  using Pending = std::shared_ptr<const std::optional<Result<Decision>>>;
  /// The response to a read that the protocol has not received yet.
  struct HeldRead {
    BucketKey key;
    BucketItems items;
  };

  // The table. Amounts are whole tokens.
  void Put(const std::string& entity, std::int64_t tokens, std::uint32_t shard = 0,
           std::uint32_t shards = 1);
  std::optional<Item> Stored(const std::string& entity, std::uint32_t shard = 0);
  /// Changes the item as another process does, and moves rf.
  void Change(const std::string& entity, const std::function<void(Item&)>& change,
              std::uint32_t shard = 0);
  /// Sets the balance, as another process does.
  void Leave(const std::string& entity, std::int64_t tokens, std::uint32_t shard = 0);
  void ReplaceLimit(const std::string& entity, const Quota& quota);
  /// Gives every slot of the write fence to another process.
  void ClaimSlots(const std::string& entity);
  void Delete(const std::string& entity, std::uint32_t shard);
  /// Returns the stored consumption of all shards: takes less returns.
  std::int64_t Taken(const std::string& entity);

  // Calls.
  Pending Start(const std::vector<Ask>& asks, const Terms& terms);
  Pending Start(const std::vector<Ask>& asks) { return Start(asks, Terms{}); }
  Pending Keep(const std::vector<Ask>& asks, milliseconds patience) {
    return Start(asks, {.patience = patience, .keeps = true});
  }
  /// Returns "waits", "admitted", "refused", "contended", "outdated", or the name of an error code.
  static std::string StateOf(const Pending& call);

  // Requests of the protocol.

  void Learn(const std::string& entity, std::uint32_t shard = 0);
  /// Carries out all reads that the protocol has requested. Deliver passes them to it.
  std::vector<HeldRead> ReadNow();
  void Deliver(std::vector<HeldRead> reads);
  void Read() { Deliver(ReadNow()); }
  /// Removes and returns the first write on the bucket that is not carried out yet. Fails the test
  /// if there is none.
  Request Next(const std::string& entity);
  /// Returns the number of writes on the bucket that are not carried out yet.
  std::size_t Writes(const std::string& entity) const;
  /// Carries out the write, and delivers the response.
  void Apply(const Request& write);
  /// Carries out the write. The returned function delivers the response.
  std::function<void()> ApplyHoldingResponse(const Request& write);
  /// Carries out the write, and loses the response.
  void LoseResponse(const Request& write);
  /// Loses the write.
  void LoseRequest(const Request& write);
  void Fail(const Request& write, WriteFailure failure);
  /// Advances the time, and calls OnTime at each time that the protocol names on the way.
  void Wait(milliseconds time);

  /// Carries out all requests until the protocol is idle. Each bucket must then store exactly the
  /// takes that the results of calls report.
  void ExpectExact();

  /// The usual round trip (ProtocolTime::round_trip).
  std::optional<nanoseconds> round_trip_{};
  std::uint64_t drawn_ = 0;
  ZaeSimTable table_;
  std::unique_ptr<BucketProtocol> protocol_ = MakeProtocol(1000);
  std::unique_ptr<BucketProtocol> MakeProtocol(std::size_t capacity);

 private:
  ProtocolTime Now() const;
  void Do(BucketProtocol::Step step);
  BucketActor::WriteOutcome CarryOut(const Request& write);
  /// Adds the tokens that a result says were taken to reported_.
  void Note(const CallRequest& request, const Result<Decision>& result);
  bool IsQuiet() const { return protocol_->is_idle() && writes_.empty() && reads_.empty(); }

  std::vector<Request> writes_;
  std::vector<BucketKey> reads_;
  // Tokens taken according to the results, keyed by entity.
  std::map<std::string, std::int64_t> reported_;
};

}  // namespace weir::dynamo
