#include "weir/zae_table/testing/bucket_protocol_fixture.h"

#include <algorithm>
#include <utility>

#include "weir/zae_table/actor/fence_slots.h"

namespace weir::dynamo {
namespace {

constexpr std::uint32_t kMaxShardsStored = 8;

}  // namespace

// Draws are a counter, so that a run is always the same.
std::unique_ptr<BucketProtocol> BucketProtocolTest::MakeProtocol(std::size_t capacity) {
  return std::make_unique<BucketProtocol>(ActorTerms{.keys = kShardKeys,
                                                     .writes = WriteQuota(),
                                                     .refusal_age = milliseconds(1'000),
                                                     .repair_rest = milliseconds(1'000),
                                                     .instance = 1,
                                                     .draw = [this] { return ++drawn_; }},
                                          capacity);
}

ProtocolTime BucketProtocolTest::Now() const {
  const Clock& clock = table_.scheduler.clock();
  return {.at = clock.Now(), .bucket_time = clock.WallNow(), .round_trip = round_trip_};
}

void BucketProtocolTest::Put(const std::string& entity, std::int64_t tokens, std::uint32_t shard,
                             std::uint32_t shards) {
  Item item = ShardItemOf({entity, "llm", shard}, shards, tokens * kMillitokens);
  item["rf"] = Of(Now().bucket_time.value);
  table_.Put(std::move(item));
  reported_.try_emplace(entity, 0);
}

std::optional<Item> BucketProtocolTest::Stored(const std::string& entity, std::uint32_t shard) {
  return table_.Get(kShardKeys.Bucket({entity, "llm", shard}));
}

void BucketProtocolTest::Change(const std::string& entity, const std::function<void(Item&)>& change,
                                std::uint32_t shard) {
  Item item = *Stored(entity, shard);
  change(item);
  item["rf"] = Of(*GetNumber(item, "rf") + 1);
  table_.Put(std::move(item));
}

void BucketProtocolTest::Leave(const std::string& entity, std::int64_t tokens,
                               std::uint32_t shard) {
  Change(entity, [&](Item& item) { item["b_rpm_tk"] = Of(tokens * kMillitokens); }, shard);
}

void BucketProtocolTest::ReplaceLimit(const std::string& entity, const Quota& quota) {
  Change(entity, [&](Item& item) {
    item["b_rpm_cp"] = Of(quota.capacity);
    item["b_rpm_ra"] = Of(quota.amount);
    item["b_rpm_rp"] = Of(quota.period);
  });
}

void BucketProtocolTest::ClaimSlots(const std::string& entity) {
  Change(entity, [this](Item& item) {
    for (std::size_t i = 0; i < kFenceSlots; ++i) {
      item[SlotAttribute(i)] = Of(FenceValue{.instance = 77, .at = Now().bucket_time, .draw = 1});
    }
  });
}

void BucketProtocolTest::Delete(const std::string& entity, std::uint32_t shard) {
  const auto deleted = table_.Ask<void>([&](Done<void> done) {
    table_.table.DeleteAll({kShardKeys.Bucket({entity, "llm", shard})}, kNever, std::move(done));
  });
  ASSERT_TRUE(deleted);
}

std::int64_t BucketProtocolTest::Taken(const std::string& entity) {
  std::int64_t taken = 0;
  for (std::uint32_t shard = 0; shard < kMaxShardsStored; ++shard) {
    const auto item = Stored(entity, shard);
    if (item) taken += GetNumber(*item, "b_rpm_tc").value_or(0);
  }
  return taken / kMillitokens;
}

BucketProtocolTest::Pending BucketProtocolTest::Start(const std::vector<Ask>& asks,
                                                      const Terms& terms) {
  const ProtocolTime now = Now();
  const UnixMillis read_at = now.bucket_time - terms.paused;
  CallRequest request{.kind = terms.kind,
                      .charges = {},
                      .adjust_id = terms.adjust_id.value_or(AdjustId{1, ++drawn_}),
                      .is_recorded = terms.is_recorded,
                      .counts_by = terms.counts_within ? read_at + *terms.counts_within : kAnyTime,
                      .keeps = terms.keeps,
                      .now = read_at,
                      .began_at = now.at,
                      .deadline = Deadline::At(now.at + terms.patience)};
  for (const Ask& ask : asks) {
    request.charges.push_back(
        {.target = MakeTarget({ask.entity, "llm", 0}, {terms.limit}, terms.source),
         .amounts = {ask.tokens * kMillitokens},
         .resolved_at = now.at});
  }
  auto received = std::make_shared<std::optional<Result<Decision>>>();
  Done<Decision> done = [this, received, request](Result<Decision> result) {
    EXPECT_FALSE(received->has_value()) << "answered twice";
    Note(request, result);
    received->emplace(std::move(result));
  };
  BucketProtocol::Step step;
  protocol_->Start(std::move(request), std::move(done), now, step);
  Do(std::move(step));
  return received;
}

void BucketProtocolTest::Note(const CallRequest& request, const Result<Decision>& result) {
  const bool keeps = request.keeps && !result && result.error().code == Code::kDeadlineExceeded;
  if (!keeps && !(result && result->admitted)) return;
  for (const Charge& charge : request.charges) {
    reported_[charge.target->key.entity] += charge.amounts.front() / kMillitokens;
  }
}

std::string BucketProtocolTest::StateOf(const Pending& call) {
  if (!*call) return "waits";
  const Result<Decision>& result = **call;
  if (!result) return std::string(CodeName(result.error().code));
  if (result->admitted) return "admitted";
  if (result->contended) return "contended";
  return result->outdated ? "outdated" : "refused";
}

// Runs the results of calls at once. Requests wait until the test carries them out.
void BucketProtocolTest::Do(BucketProtocol::Step step) {
  std::ranges::move(step.sends, std::back_inserter(writes_));
  std::ranges::move(step.reads, std::back_inserter(reads_));
  EXPECT_TRUE(step.shard_requests.empty()) << "a test that divides buckets needs a store";
  for (auto& received : step.completions) received.done(std::move(received.result));
}

void BucketProtocolTest::Learn(const std::string& entity, std::uint32_t shard) {
  protocol_->Learn(*ReadImage(*Stored(entity, shard)), Now());
}

std::vector<BucketProtocolTest::HeldRead> BucketProtocolTest::ReadNow() {
  std::vector<HeldRead> reads;
  for (const BucketKey& key : std::exchange(reads_, {})) {
    const bool divided = Stored(key.entity, std::max<std::uint32_t>(key.shard, 1)).has_value();
    reads.push_back({key, {Stored(key.entity, key.shard), {}, divided}});
  }
  return reads;
}

void BucketProtocolTest::Deliver(std::vector<HeldRead> reads) {
  for (HeldRead& read : reads) {
    BucketProtocol::Step step;
    protocol_->OnRead(read.key, std::move(read.items), Now(), step);
    Do(std::move(step));
  }
}

BucketProtocolTest::Request BucketProtocolTest::Next(const std::string& entity) {
  const auto found = std::ranges::find_if(
      writes_, [&](const Request& write) { return write.key.entity == entity; });
  if (found == writes_.end()) {
    ADD_FAILURE() << "no write on " << entity;
    return {};
  }
  Request write = std::move(*found);
  writes_.erase(found);
  return write;
}

std::size_t BucketProtocolTest::Writes(const std::string& entity) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      writes_, [&](const Request& write) { return write.key.entity == entity; }));
}

BucketActor::WriteOutcome BucketProtocolTest::CarryOut(const Request& write) {
  std::optional<BucketActor::WriteOutcome> outcome;
  const auto done = [&](BucketActor::WriteOutcome result) { outcome.emplace(std::move(result)); };
  const std::vector<Write>& writes = write.write.writes;
  if (writes.size() == 1) {
    table_.table.Apply(writes.front(), false, kNever, done);
  } else {
    table_.table.Transact(writes, write.write.token, kNever, done);
  }
  return *std::move(outcome);
}

std::function<void()> BucketProtocolTest::ApplyHoldingResponse(const Request& write) {
  return [this, key = write.key, id = write.write.write, outcome = CarryOut(write)] {
    BucketProtocol::Step step;
    protocol_->OnWrite(key, id, outcome, Now(), step);
    Do(std::move(step));
  };
}

void BucketProtocolTest::Apply(const Request& write) {
  if (!write.write.writes.empty()) ApplyHoldingResponse(write)();
}

void BucketProtocolTest::Fail(const Request& write, WriteFailure failure) {
  BucketProtocol::Step step;
  protocol_->OnWrite(write.key, write.write.write, tl::unexpected(std::move(failure)), Now(), step);
  Do(std::move(step));
}

void BucketProtocolTest::LoseRequest(const Request& write) {
  Fail(write, {.kind = FailureClass::kAmbiguous,
               .error = {Code::kUnavailable, "no answer"},
               .maybe_applied = true});
}

void BucketProtocolTest::LoseResponse(const Request& write) {
  EXPECT_TRUE(CarryOut(write));
  LoseRequest(write);
}

void BucketProtocolTest::Wait(milliseconds time) {
  const Instant end = Now().at + time;
  while (Now().at < end) {
    const Instant next = std::clamp(protocol_->wake().value_or(end), Now().at, end);
    table_.scheduler.Advance(next - Now().at);
    BucketProtocol::Step step;
    protocol_->OnTime(Now(), step);
    Do(std::move(step));
  }
}

void BucketProtocolTest::ExpectExact() {
  for (int round = 0; round < 1000 && !IsQuiet(); ++round) {
    Read();
    for (const Request& write : std::exchange(writes_, {})) Apply(write);
    if (writes_.empty() && reads_.empty() && !protocol_->is_idle()) Wait(milliseconds(5));
  }
  EXPECT_TRUE(IsQuiet());
  for (const auto& [entity, tokens] : reported_) EXPECT_EQ(Taken(entity), tokens) << entity;
}

}  // namespace weir::dynamo
