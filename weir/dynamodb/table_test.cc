#include "weir/dynamodb/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <functional>
#include <set>

#include "weir/dynamodb/testing/sim_table.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Le;
using testing::SizeIs;

using Items = std::vector<std::optional<Item>>;

// A busy table: executes the next number in `does` of a batch's keys, and all keys of later
// batches. Cancels the first transactions for the reasons in `cancels`.
class BusyClient final : public JsonClient {
 public:
  explicit BusyClient(const Clock& clock) : clock_(clock) {}

  void Call(JsonCall call, Deadline deadline, JsonDone done) override {
    when.push_back(clock_.Now());
    deadlines.push_back(deadline);
    bodies.push_back(call.body);
    if (call.operation == "TransactWriteItems") return Transact(deadline, std::move(done));
    done(JsonReply{.body = call.operation == "BatchGetItem" ? Get(call.body) : Delete(call.body)});
  }

  /// Returns the times between calls.
  std::vector<nanoseconds> Pauses() const {
    std::vector<nanoseconds> pauses;
    for (std::size_t i = 1; i < when.size(); ++i) pauses.push_back(when[i] - when[i - 1]);
    return pauses;
  }

  std::deque<std::size_t> does;
  bool does_nothing = false;
  std::deque<std::vector<std::string>> cancels;
  bool cancels_all = false;
  /// The first transactions fail like this, after `wait`.
  std::deque<FailureClass> incomplete;
  std::function<void(Deadline)> wait = [](Deadline) {};
  std::vector<Instant> when;
  std::vector<Deadline> deadlines;
  std::vector<std::string> bodies;
  std::size_t deleted = 0;

 private:
  // Returns the keys in the body, as they are written, and how many of them are executed.
  std::pair<std::vector<std::string>, std::size_t> Read(const std::string& body) {
    std::vector<std::string> keys;
    const std::string begin = R"({"PK":)";
    for (std::size_t at = body.find(begin); at != body.npos; at = body.find(begin, at + 1)) {
      keys.push_back(body.substr(at, body.find("}}", at) + 2 - at));
    }
    std::size_t done = does_nothing ? 0 : keys.size();
    if (!does.empty()) {
      done = std::min(does.front(), keys.size());
      does.pop_front();
    }
    return {std::move(keys), done};
  }
  std::string Get(const std::string& body) {
    const auto [keys, done] = Read(body);
    const auto middle = keys.begin() + static_cast<std::ptrdiff_t>(done);
    std::string text =
        fmt::format(R"({{"Responses":{{"t":[{}]}})", fmt::join(keys.begin(), middle, ","));
    if (middle != keys.end()) {
      text += fmt::format(R"(,"UnprocessedKeys":{{"t":{{"Keys":[{}]}}}})",
                          fmt::join(middle, keys.end(), ","));
    }
    return text + "}";
  }
  std::string Delete(const std::string& body) {
    const auto [keys, done] = Read(body);
    deleted += done;
    std::vector<std::string> left;
    for (std::size_t i = done; i < keys.size(); ++i) {
      left.push_back(fmt::format(R"({{"DeleteRequest":{{"Key":{}}}}})", keys[i]));
    }
    if (left.empty()) return "{}";
    return fmt::format(R"({{"UnprocessedItems":{{"t":[{}]}}}})", fmt::join(left, ","));
  }
  void Transact(Deadline deadline, JsonDone done) {
    if (!incomplete.empty()) {
      wait(deadline);
      const FailureClass kind = incomplete.front();
      incomplete.pop_front();
      return done(tl::unexpected(AwsFailure{.kind = kind,
                                            .message = "no answer",
                                            .maybe_applied = kind == FailureClass::kAmbiguous}));
    }
    if (cancels.empty()) return done(JsonReply{.body = "{}"});
    std::string reasons;
    for (const std::string& code : cancels.front()) {
      reasons += fmt::format(R"({}{{"Code":"{}"}})", reasons.empty() ? "" : ",", code);
    }
    if (!cancels_all) cancels.pop_front();
    done(tl::unexpected(
        AwsFailure{.kind = FailureClass::kConditional,
                   .code = "TransactionCanceledException",
                   .message = "cancelled",
                   .body = fmt::format(R"({{"CancellationReasons":[{}]}})", reasons)}));
  }

  const Clock& clock_;
};

std::vector<TableKey> SomeKeys(int count) {
  std::vector<TableKey> keys;
  for (int i = 0; i < count; ++i) keys.push_back({"p", fmt::format("{:03}", i)});
  return keys;
}

struct BusyTable {
  explicit BusyTable(std::uint64_t seed = 1)
      : table(client, *scheduler, "t", seed, PlainLayout()) {}

  template <class T, class Start>
  std::optional<Result<T>> Ask(Start&& start) {
    std::optional<Result<T>> response;
    start(Done<T>([&](Result<T> result) { response.emplace(std::move(result)); }));
    EXPECT_TRUE(scheduler->RunAll(10'000));
    return response;
  }
  Result<Items> Get(int count, Deadline deadline = Deadline::Never()) {
    return Ask<Items>(
               [&](auto done) { table.BatchGet(SomeKeys(count), deadline, std::move(done)); })
        .value();
  }
  Status Delete(int count, Deadline deadline = Deadline::Never()) {
    return Ask<void>(
               [&](auto done) { table.DeleteAll(SomeKeys(count), deadline, std::move(done)); })
        .value();
  }
  tl::expected<WriteResponse, WriteFailure> Transact(Deadline deadline = Deadline::Never()) {
    tl::expected<WriteResponse, WriteFailure> told = WriteResponse{};
    int times = 0;
    table.TransactPatiently({Write{.key = {"p", "s"}, .item = {}, .expression = {}}}, "token",
                            deadline, [&](auto response) {
                              ++times;
                              told = std::move(response);
                            });
    EXPECT_TRUE(scheduler->RunAll(10'000));
    EXPECT_EQ(times, 1);
    return told;
  }
  Deadline Within(nanoseconds wait) const { return Deadline::After(scheduler->clock(), wait); }

  std::unique_ptr<sim::SimScheduler> scheduler = std::make_unique<sim::SimScheduler>();
  BusyClient client{scheduler->clock()};
  Table table;
};

TEST(TableBatch, WhatIsLeftOfABatchIsAskedForAfterAPause) {
  BusyTable t;
  t.client.does = {0, 0, 0};
  const auto items = t.Get(3);
  ASSERT_TRUE(items) << items.error().message;
  EXPECT_THAT(*items, SizeIs(3));
  for (const auto& item : *items) EXPECT_TRUE(item);
  const auto pauses = t.client.Pauses();
  ASSERT_THAT(pauses, SizeIs(3));
  EXPECT_THAT(pauses, Each(testing::Gt(nanoseconds(0))));
  EXPECT_LE(pauses[0], nanoseconds(milliseconds(25)));
  EXPECT_LE(pauses[1], nanoseconds(milliseconds(50)));
  EXPECT_LE(pauses[2], nanoseconds(milliseconds(100)));
}

TEST(TableBatch, WhatIsLeftOfADeletionIsDeletedAfterAPause) {
  BusyTable t;
  t.client.does = {0, 2};
  EXPECT_TRUE(t.Delete(5));
  EXPECT_EQ(t.client.deleted, 5U);
  EXPECT_THAT(t.client.Pauses(), SizeIs(2));
  EXPECT_THAT(t.client.Pauses(), Each(testing::Gt(nanoseconds(0))));
}

TEST(TableBatch, NobodyPausesWhereAllIsDone) {
  BusyTable t;
  EXPECT_TRUE(t.Get(450));
  EXPECT_TRUE(t.Delete(60));
  EXPECT_THAT(t.client.when, SizeIs(5 + 3));
  EXPECT_THAT(t.client.Pauses(), Each(nanoseconds(0)));
}

TEST(TableBatch, ATableThatDoesNothingIsGivenUpAfterTenPauses) {
  BusyTable t;
  t.client.does_nothing = true;
  const auto items = t.Get(2);
  ASSERT_FALSE(items);
  EXPECT_EQ(items.error().code, Code::kUnavailable);
  EXPECT_THAT(items.error().message,
              HasSubstr("BatchGetItem at table t: it is too busy, 2 of 2 keys"));
  EXPECT_THAT(t.client.when, SizeIs(11));
  const auto deleted = t.Delete(1);
  ASSERT_FALSE(deleted);
  EXPECT_THAT(deleted.error().message, HasSubstr("BatchWriteItem at table t"));
  EXPECT_THAT(t.client.when, SizeIs(22));
  EXPECT_THAT(t.client.Pauses(), Each(Le(nanoseconds(seconds(2)))));
}

TEST(TableBatch, ProgressMakesThePausesShortAgainAndCountsThemAnew) {
  BusyTable t;
  // Nine times nothing is executed, then one key, repeatedly.
  for (int i = 0; i < 5; ++i) {
    t.client.does.insert(t.client.does.end(), 9, 0);
    t.client.does.push_back(1);
  }
  const auto items = t.Get(6);
  ASSERT_TRUE(items) << items.error().message;
  const auto pauses = t.client.Pauses();
  ASSERT_THAT(pauses, SizeIs(50));
  for (std::size_t i = 9; i < pauses.size(); i += 10) {
    EXPECT_LE(pauses[i], nanoseconds(milliseconds(25))) << i;
  }
}

TEST(TableBatch, ThePausesStayWithinTheDeadline) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    BusyTable t(seed);
    t.client.does_nothing = true;
    const Deadline deadline = t.Within(milliseconds(60));
    const auto items = t.Get(1, deadline);
    ASSERT_FALSE(items);
    EXPECT_EQ(items.error().code, Code::kUnavailable);
    EXPECT_LT(t.scheduler->clock().Now(), deadline.at());
    EXPECT_THAT(t.client.deadlines, Each(deadline));
  }
}

TEST(TableBatch, AFleetDoesNotComeBackTogether) {
  std::set<nanoseconds> pauses;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    BusyTable t(seed);
    t.client.does = {0};
    EXPECT_TRUE(t.Get(1));
    pauses.insert(t.client.Pauses().front());
  }
  EXPECT_THAT(pauses, SizeIs(20));
}

TEST(TableBatch, OneThatIsDroppedIsAnswered) {
  BusyTable t;
  t.client.does_nothing = true;
  std::vector<Code> codes;
  t.table.BatchGet(SomeKeys(1), Deadline::Never(),
                   [&](const auto& items) { codes.push_back(items.error().code); });
  t.table.DeleteAll(SomeKeys(1), Deadline::Never(),
                    [&](const auto& done) { codes.push_back(done.error().code); });
  EXPECT_THAT(codes, SizeIs(0));
  t.scheduler.reset();
  EXPECT_THAT(codes, ElementsAre(Code::kCancelled, Code::kCancelled));
}

// Retries throttled calls, as every real client does: a batch of which nothing was executed is
// throttled.
class PatientClient final : public JsonClient {
 public:
  explicit PatientClient(JsonClient& client) : client_(client) {}
  void Call(JsonCall call, Deadline deadline, JsonDone done) override {
    tl::expected<JsonReply, AwsFailure> reply;
    do {
      client_.Call(call, deadline, [&](auto response) { reply = std::move(response); });
    } while (!reply && reply.error().kind == FailureClass::kThrottle);
    done(std::move(reply));
  }

 private:
  JsonClient& client_;
};

// Fails if: keys that were left undone are not requested again.
RC_GTEST_PROP(TableBatch, GivesEveryKeyItsItemHoweverBusyTheTableIs, ()) {
  SimTable sim(PlainLayout(), false, *rc::gen::arbitrary<std::uint64_t>());
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  std::vector<TableKey> keys;
  for (int i = 0; i < 130; ++i) {
    const TableKey key{"p", fmt::format("{:03}", rng.Below(200))};
    if (rng.Chance(0.7)) sim.Put(ToItem(key, PlainLayout().keys));
    keys.push_back(key);
  }
  PatientClient client(sim.client);
  Table table(client, sim.scheduler, sim.table.name(), 1, PlainLayout());
  sim.server.faults.unprocessed = 0.4;
  const auto items =
      sim.Ask<Items>([&](auto done) { table.BatchGet(keys, Deadline::Never(), std::move(done)); });
  RC_ASSERT(items.has_value());
  RC_ASSERT(sim.server.counts().unprocessed > 0U);
  sim.server.faults.unprocessed = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) RC_ASSERT((*items)[i] == sim.Get(keys[i]));
}

TEST(TableTransaction, OthersOnItsItemsAreWaitedFor) {
  BusyTable t;
  t.client.cancels = {{"TransactionConflict", "None"},
                      {"None", "ThrottlingError"},
                      {"ProvisionedThroughputExceeded", "TransactionConflict"}};
  EXPECT_TRUE(t.Transact());
  ASSERT_THAT(t.client.when, SizeIs(4));
  EXPECT_THAT(t.client.Pauses(), Each(testing::Gt(nanoseconds(0))));
  EXPECT_THAT(t.client.Pauses(), Each(Le(nanoseconds(milliseconds(100)))));
  EXPECT_THAT(t.client.bodies, Each(t.client.bodies.front())) << "with the same token";
}

// Fails if: a transaction on which the client gave up because of throttling ends a patient call.
TEST(TableTransaction, D15AThrottledOneIsWaitedFor) {
  BusyTable t;
  t.client.incomplete = {FailureClass::kThrottle, FailureClass::kThrottle};
  EXPECT_TRUE(t.Transact());
  EXPECT_THAT(t.client.when, SizeIs(3));
}

TEST(TableTransaction, AConditionThatFailsIsTheAnswerAtOnce) {
  BusyTable t;
  t.client.cancels = {{"ConditionalCheckFailed", "TransactionConflict"}};
  const auto response = t.Transact();
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind, FailureClass::kConditional);
  EXPECT_EQ(response.error().ReasonOf(0), "ConditionalCheckFailed");
  EXPECT_THAT(t.client.when, SizeIs(1));
}

TEST(TableTransaction, IsGivenUpAfterTenPausesOrBeforeTheDeadline) {
  BusyTable t;
  t.client.cancels = {{"TransactionConflict"}};
  t.client.cancels_all = true;
  EXPECT_EQ(t.Transact().error().ReasonOf(0), "TransactionConflict");
  EXPECT_THAT(t.client.when, SizeIs(11));
  const Deadline deadline = t.Within(milliseconds(50));
  EXPECT_EQ(t.Transact(deadline).error().ReasonOf(0), "TransactionConflict");
  EXPECT_LT(t.scheduler->clock().Now(), deadline.at());
}

TEST(TableTransaction, OneThatIsDroppedIsAnsweredWithItsLastFailure) {
  BusyTable t;
  t.client.cancels = {{"TransactionConflict"}};
  int times = 0;
  t.table.TransactPatiently({}, "token", Deadline::Never(), [&](const auto& response) {
    ++times;
    EXPECT_EQ(response.error().ReasonOf(0), "TransactionConflict");
  });
  EXPECT_EQ(times, 0);
  t.scheduler.reset();
  EXPECT_EQ(times, 1);
}

// R13. Fails if: a try is sent with the writes, or under the token, of an earlier one.
TEST(TableTransaction, R13OneThatIsMadeForEachTryIsMadeThen) {
  BusyTable t;
  t.client.cancels = {{"TransactionConflict"}, {"TransactionConflict"}};
  std::vector<Instant> made;
  int times = 0;
  t.table.TransactPatiently(
      [&]() -> Transaction {
        made.push_back(t.scheduler->clock().Now());
        return {.writes = {Write{.key = {"p", "s"}, .item = {}, .expression = {}}},
                .token = fmt::format("try-{}", made.size())};
      },
      seconds(1), Deadline::Never(),
      [&](const auto& response) {
        ++times;
        EXPECT_TRUE(response);
      });
  EXPECT_TRUE(t.scheduler->RunAll(10'000));
  EXPECT_EQ(times, 1);
  EXPECT_EQ(made, t.client.when);
  ASSERT_THAT(t.client.bodies, SizeIs(3));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(t.client.bodies[i], testing::HasSubstr(fmt::format("\"try-{}\"", i + 1)));
  }
}

// Transactions whose tries last a second at most, and wait for a response until then.
struct SlowTable : BusyTable {
  SlowTable() {
    client.wait = [this](Deadline until) {
      scheduler->Advance(until.Left(scheduler->clock().Now()));
    };
  }
  tl::expected<WriteResponse, WriteFailure> TransactWithin(nanoseconds time) {
    tl::expected<WriteResponse, WriteFailure> told = WriteResponse{};
    int times = 0;
    table.TransactPatiently([this] { return Make(); }, seconds(1), Within(time),
                            [&](auto response) {
                              ++times;
                              told = std::move(response);
                            });
    EXPECT_TRUE(scheduler->RunAll(10'000));
    EXPECT_EQ(times, 1);
    return told;
  }
  Transaction Make() {
    made.push_back(scheduler->clock().Now());
    return {.writes = {}, .token = fmt::format("try-{}", made.size())};
  }
  std::vector<Instant> made;
};

// R13. Fails if: writes that contain a time may be applied much later, because the request waits
// for a connection or is repeated by the client.
TEST(TableTransaction, R13ATryThatTakesTooLongIsMadeAgain) {
  SlowTable t;
  t.client.incomplete = {FailureClass::kDeadline, FailureClass::kAmbiguous};
  EXPECT_TRUE(t.TransactWithin(seconds(30)));
  EXPECT_EQ(t.made, t.client.when);
  ASSERT_THAT(t.made, SizeIs(3));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(t.client.deadlines[i], Deadline::At(t.made[i] + seconds(1)));
    EXPECT_THAT(t.client.bodies[i], HasSubstr(fmt::format("\"try-{}\"", i + 1)));
  }
}

// Fails if: a call outlasts its deadline, or a failure is retried that was not caused by a try's
// own end.
TEST(TableTransaction, R13WhatEndsForAnotherReasonIsNotMadeAgain) {
  SlowTable t;
  t.client.incomplete = {FailureClass::kAmbiguous};
  EXPECT_TRUE(t.TransactWithin(milliseconds(500)).error().maybe_applied);
  EXPECT_THAT(t.made, SizeIs(1));
  EXPECT_EQ(t.client.deadlines[0], Deadline::At(t.made[0] + milliseconds(500)));
  t.client.incomplete = {FailureClass::kAmbiguous};
  t.client.wait = [](Deadline) {};
  EXPECT_FALSE(t.TransactWithin(seconds(30)));
  EXPECT_THAT(t.made, SizeIs(2)) << "the client gave up before the try's time was over";
}

// Fails if: the result says that nothing was written, although an earlier try may have been.
TEST(TableTransaction, R13ATryThatMayHaveBeenWrittenIsNotForgotten) {
  SlowTable t;
  t.client.incomplete = {FailureClass::kAmbiguous, FailureClass::kAuth};
  const auto told = t.TransactWithin(seconds(30));
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().kind, FailureClass::kAuth);
  EXPECT_TRUE(told.error().maybe_applied);
}

TEST(TableTransaction, AnImpatientOneIsSentOnce) {
  BusyTable t;
  t.client.cancels = {{"TransactionConflict"}};
  int times = 0;
  t.table.Transact({}, "token", Deadline::Never(), [&](const auto& response) {
    ++times;
    EXPECT_FALSE(response);
  });
  EXPECT_EQ(times, 1);
  EXPECT_THAT(t.client.when, SizeIs(1));
}

// Fails if: a page's last key is not passed on, or the prefix is not.
TEST(TableScan, PagesTogetherHoldTheItemsWithThePrefix) {
  SimTable sim(PlainLayout());
  for (const char* pk : {"a", "b", "c"}) {
    for (const char* sk : {"#ONE#1", "#ONE#2", "#TWO"}) {
      sim.Put({{"PK", Of(pk)}, {"SK", Of(sk)}});
    }
  }
  for (const std::size_t limit : {1U, 2U, 4U, 100U}) {
    ScanRequest request{.sort_prefix = "#ONE#", .limit = limit};
    std::vector<std::string> found;
    do {
      const auto page = sim.Ask<QueryResponse>(
          [&](auto done) { sim.table.Scan(request, kNever, std::move(done)); });
      ASSERT_TRUE(page) << page.error().message;
      EXPECT_THAT(page->items, SizeIs(Le(limit)));
      for (const Item& item : page->items) {
        found.push_back(*GetText(item, "PK") + *GetText(item, "SK"));
      }
      request.start_after = page->last_key;
    } while (request.start_after);
    EXPECT_THAT(found,
                ElementsAre("a#ONE#1", "a#ONE#2", "b#ONE#1", "b#ONE#2", "c#ONE#1", "c#ONE#2"));
  }
}

}  // namespace
}  // namespace weir::dynamo
