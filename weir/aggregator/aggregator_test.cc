#include "weir/aggregator/aggregator.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/aggregator/testing/change_fixture.h"
#include "weir/aggregator/testing/held_lease_fixture.h"
#include "weir/telemetry/testing/recording_log_fixture.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

ChangeRecord TookOf(const std::string& entity, std::uint64_t sequence) {
  return Changed({entity, "api", 0}, sequence, {{"rpm", 0}}, {{"rpm", 1'000}});
}

// Records of the entities e1, e2, ... with the numbers 1, 2, ...
std::vector<ChangeRecord> OneForEach(std::uint64_t count) {
  std::vector<ChangeRecord> records;
  for (std::uint64_t i = 1; i <= count; ++i) records.push_back(TookOf(fmt::format("e{}", i), i));
  return records;
}

ChangeRecord ExpiredAudit(std::uint64_t sequence) {
  ChangeRecord record{.kind = ChangeKind::kRemove,
                      .sequence_number = std::to_string(sequence),
                      .created = kNewYear,
                      .keys = ToItem(Keys("ns").AuditEvent("acme", "01J")),
                      .expired = true};
  record.old_image = record.keys;
  record.old_image["event_id"] = Of("01J");
  return record;
}

// One aggregator whose requests the test responses.
class AggregatorTest : public testing::Test {
 protected:
  AggregatorTest() { options_.windows = {UsageWindow::kHourly}; }

  const AggregatorStep& Start(std::vector<ChangeRecord> records) {
    records_ = std::move(records);
    return Note(machine_.Start({"shard-1", records_, deadline_}, Moment()));
  }
  // Reports the outcome of the first request in flight.
  const AggregatorStep& Apply() {
    const Write write = std::get<Write>(Pop().body);
    std::optional<tl::expected<WriteResponse, WriteFailure>> outcome;
    sim_.table.Apply(write, false, kNever, [&](auto result) { outcome = std::move(result); });
    return Note(machine_.OnWrite(popped_, *std::move(outcome), Moment()));
  }
  const AggregatorStep& FailWrite(FailureClass kind) {
    Pop();
    return Note(machine_.OnWrite(
        popped_, tl::unexpected(WriteFailure{.kind = kind, .error = {Code::kUnavailable, "fault"}}),
        Moment()));
  }
  const AggregatorStep& Archived(Status outcome) {
    Pop();
    return Note(machine_.OnArchived(popped_, std::move(outcome), Moment()));
  }
  const AggregatorStep& OnTime() { return Note(machine_.OnTime(Moment())); }
  void ApplyAll() {
    while (!pending_.empty()) Apply();
  }
  AggregatorRequest Pop() {
    EXPECT_FALSE(pending_.empty());
    AggregatorRequest request = std::move(pending_.front());
    pending_.erase(pending_.begin());
    popped_ = request.id;
    return request;
  }
  const BatchResult& Result() {
    EXPECT_TRUE(result_.has_value());
    return *result_;
  }
  std::int64_t Counted(const std::string& entity) {
    const auto item = sim_.Get({"ns/ENTITY#" + entity, "#USAGE#api#2026-01-01T05:00:00Z"});
    return item ? GetNumber(*item, "rpm").value_or(0) : 0;
  }
  // Puts the usage of an entity: this number of limits with 5 tokens each, one of them `rpm`, and
  // an attribute of this size.
  TableKey Fill(const std::string& entity, std::size_t filler, int limits) {
    const UsageKey usage{entity, "api", UsageWindow::kHourly, kNewYear + milliseconds(5 * kHour)};
    TableKey key = KeyOfUsage(Keys("ns"), usage);
    Item item = ToItem(key);
    item["entity_id"] = Of(entity);
    item["resource"] = Of("api");
    item["window"] = Of("hourly");
    item["window_start"] = Of("2026-01-01T05:00:00Z");
    item["filler"] = Of(std::string(filler, 'x'));
    item["rpm"] = Of(5);
    for (int i = 1; i < limits; ++i) item[fmt::format("old-{:08}", i)] = Of(5);
    sim_.Put(item);
    return key;
  }
  // Returns the sum over all limits of an item of usage.
  static std::int64_t MillitokensIn(const Item& item) {
    std::int64_t sum = 0;
    const auto usage = ReadUsage(item);
    for (const auto& [limit, tokens] : usage->used) sum += tokens * 1'000;
    const std::string* text = GetText(item, kUsageRemainders);
    for (std::size_t at = 0; text != nullptr && (at = text->find('=', at)) != std::string::npos;) {
      sum += std::stoll(text->substr(++at));
    }
    return sum;
  }
  ProtocolTime Moment() const {
    return {.at = now_, .bucket_time = kNewYear + milliseconds(5 * 3'600'000 + 1)};
  }
  void Advance(nanoseconds by) { now_ = now_ + by; }
  const AggregatorStep& Note(AggregatorStep step) {
    for (const AggregatorRequest& request : step.requests) pending_.push_back(request);
    if (step.done) result_ = step.done;
    step_ = std::move(step);
    return step_;
  }

  static constexpr std::int64_t kHour = 3'600'000;

  ZaeSimTable sim_;
  std::uint64_t took_ = 0;  // records of `bolt`
  Instant now_{1'000};
  RecordingLog log_;
  AggregatorOptions options_;
  AggregatorLease lease_ = HeldLease(now_);
  Aggregator machine_{{options_, lease_, log_}, 1};
  Deadline deadline_ = Deadline::At(now_ + std::chrono::seconds(60));
  std::vector<ChangeRecord> records_;
  std::vector<AggregatorRequest> pending_;
  RequestId popped_ = 0;
  AggregatorStep step_;
  std::optional<BatchResult> result_;
};

TEST_F(AggregatorTest, ABatchEndsWithItsCheckpoint) {
  Start({TookOf("acme", 5), TookOf("acme", 6), TookOf("bolt", 7)});
  EXPECT_THAT(pending_, SizeIs(2)) << "one for each usage item";
  ApplyAll();
  EXPECT_EQ(Result().checkpoint, "7");
  EXPECT_EQ(Result().failed_at, "");
  EXPECT_EQ(Result().applied, 3U);
  EXPECT_EQ(Result().counts.updates, 2U);
  EXPECT_EQ(Counted("acme"), 2);
  EXPECT_EQ(machine_.wake(), Instant{INT64_MAX});
}

TEST_F(AggregatorTest, AnOverlappingBatchCountsTheRest) {
  Start({TookOf("acme", 5)});
  ApplyAll();
  Start({TookOf("acme", 5), TookOf("acme", 6)});
  ApplyAll();
  EXPECT_EQ(Counted("acme"), 2);
  EXPECT_EQ(Result().counts.conflicts, 1U);
  EXPECT_EQ(Result().checkpoint, "6");
}

TEST_F(AggregatorTest, ABatchWithoutConsumptionEndsAtOnce) {
  EXPECT_TRUE(Start({}).done);
  EXPECT_TRUE(Start({Changed({"acme", "api", 0}, 3, {{"rpm", 5}}, {{"rpm", 5}})}).done);
  EXPECT_EQ(Result().checkpoint, "3");
}

// Fails if: a record that cannot be counted is skipped, or those before it are not counted.
TEST_F(AggregatorTest, ABadRecordFailsItsBatchAtItsPosition) {
  auto records = OneForEach(4);
  records[2].old_image.clear();
  Start(records);
  ApplyAll();
  EXPECT_EQ(Result().applied, 2U);
  EXPECT_EQ(Result().checkpoint, "2");
  EXPECT_EQ(Result().failed_at, "3");
  EXPECT_EQ(Counted("e2"), 1);
  EXPECT_EQ(Counted("e4"), 0);
  ASSERT_THAT(log_.lines(), SizeIs(1));
  EXPECT_THAT(log_.lines()[0], HasSubstr("error aggregator.batch_failed stream_shard=shard-1 "
                                         "sequence=3 message="));
}

TEST_F(AggregatorTest, RequestsInFlightAreBounded) {
  options_.max_in_flight = 3;
  Aggregator machine({options_, lease_, log_}, 1);
  records_ = OneForEach(10);
  Note(machine.Start({"shard-1", records_, deadline_}, Moment()));
  EXPECT_THAT(pending_, SizeIs(3));
  const AggregatorStep next = machine.OnWrite(Pop().id, WriteResponse{}, Moment());
  EXPECT_THAT(next.requests, SizeIs(1));
}

TEST_F(AggregatorTest, AFailedRequestIsSentAgainAfterAPause) {
  Start({TookOf("acme", 5)});
  EXPECT_THAT(FailWrite(FailureClass::kThrottle).requests, IsEmpty());
  EXPECT_LE(machine_.wake(), now_ + options_.longest_pause);
  now_ = machine_.wake();
  OnTime();
  ApplyAll();
  EXPECT_EQ(Result().checkpoint, "5");
  EXPECT_EQ(Result().counts.retries, 1U);
}

// Fails if: a write that may have been applied is counted again.
TEST_F(AggregatorTest, AWriteInDoubtCountsOnce) {
  Start({TookOf("acme", 5)});
  sim_.table.Apply(std::get<Write>(pending_[0].body), false, kNever, [](const auto&) {});
  FailWrite(FailureClass::kAmbiguous);
  now_ = machine_.wake();
  OnTime();
  ApplyAll();
  EXPECT_EQ(Counted("acme"), 1);
  EXPECT_EQ(Result().counts.counted, 1U);
  EXPECT_EQ(Result().checkpoint, "5");
}

TEST_F(AggregatorTest, AtItsDeadlineABatchFailsAtTheFirstRecordThatIsNotApplied) {
  Start(OneForEach(3));
  Apply();
  const AggregatorRequest late = Pop();
  Advance(std::chrono::seconds(60));
  EXPECT_EQ(machine_.wake(), now_);
  OnTime();
  EXPECT_EQ(Result().applied, 1U);
  EXPECT_EQ(Result().checkpoint, "1");
  EXPECT_EQ(Result().failed_at, "2");
  EXPECT_EQ(Result().error->code, Code::kDeadlineExceeded);
  EXPECT_FALSE(machine_.OnWrite(late.id, WriteResponse{}, Moment()).done) << "a late response";
}

TEST_F(AggregatorTest, AnItemThatCannotBeUpdatedFailsTheBatchAtItsRecord) {
  Start(OneForEach(3));
  Apply();
  FailWrite(FailureClass::kPermanent);
  Apply();
  FailWrite(FailureClass::kPermanent);  // and so is the update without further counters
  EXPECT_EQ(Result().failed_at, "2");
  EXPECT_EQ(Counted("e3"), 1);
}

// Fails if: one entity with very many limits stops the usage of all others.
TEST_F(AggregatorTest, AnItemWithoutSpaceForALimitCountsItWithTheOthers) {
  const TableKey full{"ns/ENTITY#acme", "#USAGE#api#2026-01-01T05:00:00Z"};
  Item item = ToItem(full);
  item["filler"] = Of(std::string(409'000, 'x'));
  sim_.Put(item);
  const std::string limit(600, 'j');
  Start({Changed({"acme", "api", 0}, 1, {{limit, 0}}, {{limit, 3'000}}), TookOf("bolt", 2)});
  ApplyAll();
  EXPECT_EQ(Result().checkpoint, "2");
  EXPECT_EQ(Counted("bolt"), 1);
  EXPECT_EQ(GetNumber(*sim_.Get(full), kOtherLimits), 3);
}

// Fails if: a refused update of an item adds what has no space either: the first counter of the
// other limits, a remainder, or a watermark; or if making space loses usage or counts it twice.
TEST_F(AggregatorTest, AnItemThatIsFullToItsLastByteCountsEachChangeOnce) {
  for (std::size_t filler = 406'200; filler < 406'214; ++filler) {
    const std::string entity = fmt::format("a{}", filler);
    const TableKey key = Fill(entity, filler, 200);
    std::uint64_t sequence = 0;
    for (std::uint32_t i = 0; i < 30; ++i) {
      const std::string limit = fmt::format("new-{:08}", i);
      const BucketKey bucket{entity, "api", i % 20};
      Start({Changed(bucket, ++sequence, {{limit, 0}}, {{limit, 3'300}}), TookOf("bolt", ++took_)});
      ApplyAll();
      ASSERT_FALSE(Result().error) << filler << ", " << i << ": " << Result().error->message;
    }
    EXPECT_EQ(MillitokensIn(*sim_.Get(key)), 200 * 5'000 + 30 * 3'300);
    EXPECT_TRUE(GetNumber(*sim_.Get(key), kOtherLimits)) << "the item was not full";
    EXPECT_EQ(GetNumber(*sim_.Get(key), "rpm"), 5) << "a short name keeps its counter";
  }
  EXPECT_EQ(Counted("bolt"), static_cast<std::int64_t>(took_));
}

// Fails if: the changes of all shards are counted at once, with more watermarks than there is space
// for; or if an update in doubt moves counters twice.
TEST_F(AggregatorTest, AFullItemCountsTheShardsOfABatchOneByOne) {
  const TableKey key = Fill("acme", 407'600, 100);
  std::vector<ChangeRecord> records;
  for (std::uint32_t i = 0; i < 32; ++i) {
    const std::string limit = fmt::format("new-{:08}", i);
    records.push_back(Changed({"acme", "api", i}, i + 1, {{limit, 0}}, {{limit, 3'300}}));
  }
  deadline_ = Deadline::At(now_ + std::chrono::minutes(10));
  Start(records);
  for (int sent = 0; !result_;) {
    if (pending_.empty()) {
      now_ = machine_.wake();
      OnTime();
    } else if (++sent % 3 == 0) {
      sim_.table.Apply(std::get<Write>(pending_[0].body), false, kNever, [](const auto&) {});
      FailWrite(FailureClass::kAmbiguous);
    } else {
      Apply();
    }
  }
  ASSERT_FALSE(Result().error) << Result().error->message;
  EXPECT_EQ(MillitokensIn(*sim_.Get(key)), 100 * 5'000 + 32 * 3'300);
  EXPECT_TRUE(GetNumber(*sim_.Get(key), kOtherLimits)) << "the item was not full";
}

// Fails if: an aggregator of another shard of the stream counts while this one makes space, and its
// usage is lost.
TEST_F(AggregatorTest, ACounterThatChangesWhileSpaceIsMadeIsNotLost) {
  const TableKey key = Fill("acme", 408'000, 100);
  const std::string limit(64, 'j');
  Start({Changed({"acme", "api", 0}, 1, {{limit, 0}}, {{limit, 3'000}})});
  Apply();  // refused
  Apply();  // returns the image
  Item item = *sim_.Get(key);
  for (int i = 1; i < 100; ++i) item[fmt::format("old-{:08}", i)] = Of(6);
  sim_.Put(item);
  Apply();
  now_ = machine_.wake();
  OnTime();
  ApplyAll();
  EXPECT_FALSE(Result().error);
  EXPECT_EQ(MillitokensIn(*sim_.Get(key)), 5'000 + 99 * 6'000 + 3'000);
  EXPECT_TRUE(GetNumber(*sim_.Get(key), kOtherLimits)) << "the item was not full";
}

// Fails if: any update that is refused for good takes the counters of an item together.
TEST_F(AggregatorTest, AnItemWithSpaceKeepsItsCounters) {
  Start({TookOf("acme", 5)});
  ApplyAll();
  Start({TookOf("acme", 6)});
  FailWrite(FailureClass::kPermanent);
  ApplyAll();
  EXPECT_EQ(Result().checkpoint, "6");
  EXPECT_EQ(Counted("acme"), 1);
  const auto item = sim_.Get({"ns/ENTITY#acme", "#USAGE#api#2026-01-01T05:00:00Z"});
  EXPECT_EQ(GetNumber(*item, kOtherLimits), 1);
}

TEST_F(AggregatorTest, TriesAreBounded) {
  Start({TookOf("acme", 5)});
  int tries = 0;
  for (; !pending_.empty(); ++tries) {
    FailWrite(FailureClass::kThrottle);
    if (result_) break;
    now_ = machine_.wake();
    OnTime();
  }
  EXPECT_EQ(tries + 1, options_.max_tries);
  EXPECT_EQ(Result().failed_at, "5");
}

// Fails if: two aggregators work at the same time.
TEST_F(AggregatorTest, WithoutItsLeaseItSendsNothing) {
  const AggregatorLease lease = HeldLease(now_, milliseconds(1'000));
  options_.max_in_flight = 1;
  Aggregator machine({options_, lease, log_}, 1);
  records_ = OneForEach(3);
  Note(machine.Start({"shard-1", records_, deadline_}, Moment()));
  const RequestId first = Pop().id;
  Advance(milliseconds(1'000));
  const AggregatorStep step = machine.OnWrite(first, WriteResponse{}, Moment());
  EXPECT_THAT(step.requests, IsEmpty());
  ASSERT_TRUE(step.done);
  EXPECT_EQ(step.done->failed_at, "2");
  EXPECT_EQ(step.done->error->code, Code::kAborted);
}

// Fails if: a process whose lease ran out divides buckets.
TEST_F(AggregatorTest, WithoutItsLeaseItDividesNothing) {
  ChangeRecord busy =
      Changed({"acme", "api", 0}, 5, {{"rpm", 0}, {"wcu", 0}}, {{"rpm", 1'000}, {"wcu", 1'000}});
  busy.new_image["b_wcu_tk"] = Of(0);
  EXPECT_EQ(Start({busy}).divisions.size(), 1U);
  ApplyAll();
  Advance(std::chrono::hours(2));
  deadline_ = Deadline::At(now_ + std::chrono::seconds(60));
  busy.sequence_number = "6";
  const AggregatorStep& step = Start({busy});
  EXPECT_EQ(step.divisions.size(), 0U);
  ASSERT_TRUE(step.done);
  EXPECT_EQ(step.done->counts.divisions, 0U);
}

TEST_F(AggregatorTest, ExpiredAuditEventsAreArchivedBeforeTheCheckpoint) {
  Start({TookOf("acme", 5), ExpiredAudit(6)});
  Apply();
  EXPECT_FALSE(result_);
  EXPECT_TRUE(std::get<ArchiveObject>(pending_.at(0).body).key.ends_with("6.jsonl.gz"));
  Archived(Fail(Code::kUnavailable, "slow down"));
  now_ = machine_.wake();
  OnTime();
  Archived({});
  EXPECT_EQ(Result().checkpoint, "6");
  EXPECT_EQ(Result().counts.archived, 1U);
  Start({TookOf("acme", 8), ExpiredAudit(9)});
  Apply();
  Archived(Fail(Code::kPermissionDenied, "no bucket"));
  EXPECT_EQ(Result().failed_at, "9");
}

TEST_F(AggregatorTest, AnEventThatAClientDeletedIsNotArchived) {
  ChangeRecord deleted = ExpiredAudit(6);
  deleted.expired = false;
  EXPECT_TRUE(Start({deleted}).done);
}

// The consumption is counted: the counters mean the same.
TEST_F(AggregatorTest, AnItemWithAnUnknownFeatureIsRefusedVisibly) {
  ChangeRecord record = TookOf("acme", 5);
  record.new_image["b_rpm_soft"] = Of(1);
  Start({record, TookOf("acme", 6), TookOf("bolt", 7)});
  ApplyAll();
  EXPECT_EQ(Result().counts.refused, 0U) << "the latest image of acme has no such feature";
  record.sequence_number = "8";
  ChangeRecord other = TookOf("bolt", 9);
  other.new_image["disabled"] = Of(true);
  Start({record, other});
  ApplyAll();
  EXPECT_EQ(Result().counts.refused, 2U);
  EXPECT_EQ(Counted("acme"), 3);
  EXPECT_THAT(log_.lines(), ElementsAre(HasSubstr("warning aggregator.refused entity=acme")))
      << "at most one event in ten seconds";
}

TEST_F(AggregatorTest, ABatchThatIsTooLongIsAppliedInPart) {
  std::vector<ChangeRecord> records(kMaxRecords + 5, TookOf("acme", 5));
  Start(std::move(records));
  ApplyAll();
  EXPECT_EQ(Result().applied, kMaxRecords);
  EXPECT_EQ(Result().error->code, Code::kResourceExhausted);
  EXPECT_EQ(Counted("acme"), 1);
}

TEST_F(AggregatorTest, AGapIsStored) {
  const UsageGap gap{"shard-1", "17", kNewYear, kNewYear + milliseconds(60'000)};
  Note(machine_.StartGap(gap, deadline_, Moment()));
  FailWrite(FailureClass::kAmbiguous);
  now_ = machine_.wake();
  OnTime();
  Apply();
  EXPECT_FALSE(Result().error);
  const auto stored = sim_.Get(KeyOf(GapWrite(gap).item));
  ASSERT_TRUE(stored);
  EXPECT_EQ(ReadGap(*stored), gap);
  EXPECT_THAT(log_.lines(), ElementsAre("error aggregator.gap stream_shard=shard-1 "
                                        "from=2026-01-01T00:00:00Z until=2026-01-01T00:01:00Z"));
}

TEST_F(AggregatorTest, AGapThatCannotBeStoredIsReported) {
  Note(machine_.StartGap({"shard-1", "17", kNewYear, kNewYear}, deadline_, Moment()));
  Advance(std::chrono::seconds(60));
  OnTime();
  EXPECT_EQ(Result().error->code, Code::kDeadlineExceeded);
}

}  // namespace
}  // namespace weir::dynamo
