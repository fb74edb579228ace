// The protocol of one process on a simulated table. A test carries out its requests, one by one and
// in any order, and changes the table in between as other processes do.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/dynamo/bucket_protocol.h"
#include "weir/dynamo/dynamo_fixture.h"
#include "weir/dynamo/sharding_fixture.h"

namespace weir::dynamo {

/// Buckets are called by their entity; the resource is "llm".
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
  };
  /// Nothing while it waits.
  using Pending = std::shared_ptr<const std::optional<Result<Decision>>>;
  /// As the table answered it.
  struct HeldRead {
    BucketKey key;
    BucketItems items;
  };

  // The table.
  void Put(const std::string& entity, std::int64_t tokens, std::uint32_t shard = 0,
           std::uint32_t shards = 1);
  std::optional<Item> Stored(const std::string& entity, std::uint32_t shard = 0);
  /// As another process does: it moves rf.
  void Change(const std::string& entity, const std::function<void(Item&)>& change,
              std::uint32_t shard = 0);
  void Leave(const std::string& entity, std::int64_t tokens, std::uint32_t shard = 0);
  void ReplaceLimit(const std::string& entity, const Quota& quota);
  /// Other processes hold every slot of the write fence.
  void ClaimSlots(const std::string& entity);
  void Delete(const std::string& entity, std::uint32_t shard);
  /// The takes that all shards store, less the returns. Whole tokens.
  std::int64_t Taken(const std::string& entity);

  // Calls.
  Pending Start(const std::vector<Ask>& asks, const Terms& terms);
  Pending Start(const std::vector<Ask>& asks) { return Start(asks, Terms{}); }
  Pending Keep(const std::vector<Ask>& asks, milliseconds patience) {
    return Start(asks, {.patience = patience, .keeps = true});
  }
  /// In a word: "waits", "admitted", "refused", "contended", "outdated", or the code of an error.
  static std::string Said(const Pending& call);

  // Requests of the process.
  void Learn(const std::string& entity, std::uint32_t shard = 0);
  std::vector<HeldRead> ReadNow();
  void Deliver(std::vector<HeldRead> reads);
  /// Reads, and answers at once.
  void Read() { Deliver(ReadNow()); }
  /// The next write on the bucket that is not carried out yet. There must be one.
  Request Next(const std::string& entity);
  std::size_t Writes(const std::string& entity) const;
  /// Carries it out, and answers.
  void Apply(const Request& write);
  /// Carries it out. The returned function delivers the response.
  std::function<void()> ApplyAnswerLater(const Request& write);
  /// Carries it out; the answer does not come.
  void LoseAnswer(const Request& write);
  void LoseRequest(const Request& write);
  void Fail(const Request& write, WriteFailure failure);
  /// Whatever is due on the way, at its own instant.
  void Wait(milliseconds time);

  /// Carries out everything until nothing is pending or in doubt. Each bucket must then store
  /// exactly the takes that the results of calls say.
  void ExpectExact();

  std::uint64_t drawn_ = 0;
  SimTable table_;
  std::unique_ptr<BucketProtocol> protocol_ = MakeProtocol(1000);
  std::unique_ptr<BucketProtocol> MakeProtocol(std::size_t capacity);

 private:
  Moment Now() const;
  void Do(BucketProtocol::Step step);
  BucketActor::WriteOutcome CarryOut(const Request& write);
  void Note(const CallRequest& request, const Result<Decision>& result);
  bool IsQuiet() const { return protocol_->is_idle() && writes_.empty() && reads_.empty(); }

  std::vector<Request> writes_;
  std::vector<BucketKey> reads_;
  std::map<std::string, std::int64_t> told_;  // by entity: taken; whole tokens
};

}  // namespace weir::dynamo
