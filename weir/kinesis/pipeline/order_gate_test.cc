#include "weir/kinesis/pipeline/order_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Instant kLate = kStart + seconds(3600);

using Records = std::vector<KinesisRecord>;

/// Returns a record with one user record for each of these lanes, numbered from `number`.
KinesisRecord RecordOfLanes(std::uint64_t number, const std::vector<int>& lanes,
                            Instant expires = kLate) {
  KinesisRecord record{.data = "frame", .deadline = kStart, .expires = expires};
  for (const int lane : lanes) {
    record.records.push_back(
        {.number = number++, .hash = static_cast<HashKey>(lane), .expires = expires});
  }
  return record;
}

std::uint64_t Number(const KinesisRecord& record) { return record.records.front().number; }

/// A gate, and the records that the last call let pass.
struct Gate {
  OrderGate gate;
  std::map<std::uint64_t, OrderGate::Ticket> tickets;

  Records Told(Records records) {
    for (const KinesisRecord& record : records) tickets[Number(record)] = record.ticket;
    return records;
  }
  Records Put(KinesisRecord record) {
    Records passed;
    gate.Put(std::move(record), passed);
    return Told(std::move(passed));
  }
  Records Done(std::uint64_t number) {
    Records passed;
    gate.Done(tickets.at(number), passed);
    return Told(std::move(passed));
  }
  Records Split(std::uint64_t number, Records parts) {
    Records passed;
    gate.Split(tickets.at(number), std::move(parts), passed);
    return Told(std::move(passed));
  }
  Records Lift(Instant now) {
    Records lifted;
    gate.Lift(now, lifted);
    return Told(std::move(lifted));
  }
};

TEST(OrderGate, PassesWhatSharesNoHashKey) {
  Gate gate;
  const Records first = gate.Put(RecordOfLanes(1, {1, 2}));
  ASSERT_THAT(Numbers(first), ElementsAre(1));
  EXPECT_EQ(first[0].data, "frame");
  EXPECT_NE(first[0].ticket, 0U);
  const Records second = gate.Put(RecordOfLanes(11, {3}));
  ASSERT_THAT(Numbers(second), ElementsAre(11));
  EXPECT_NE(second[0].ticket, first[0].ticket);
  EXPECT_EQ(gate.gate.NextWake(), std::nullopt);
}

TEST(OrderGate, HoldsTheSecondOfAHashKeyUntilTheFirstIsDone) {
  Gate gate;
  gate.Put(RecordOfLanes(1, {1}));
  EXPECT_THAT(gate.Put(RecordOfLanes(11, {1})), IsEmpty());
  EXPECT_THAT(gate.Put(RecordOfLanes(21, {1})), IsEmpty());
  EXPECT_EQ(gate.gate.waiting(), 2U);
  EXPECT_THAT(Numbers(gate.Done(1)), ElementsAre(11));
  EXPECT_THAT(Numbers(gate.Done(11)), ElementsAre(21));
  EXPECT_THAT(gate.Done(21), IsEmpty());
}

TEST(OrderGate, WaitsForEachOfItsHashKeys) {
  Gate gate;
  gate.Put(RecordOfLanes(1, {1}));
  gate.Put(RecordOfLanes(11, {2}));
  EXPECT_THAT(gate.Put(RecordOfLanes(21, {1, 2})), IsEmpty());
  EXPECT_THAT(gate.Done(11), IsEmpty());
  EXPECT_THAT(Numbers(gate.Done(1)), ElementsAre(21));
}

// Otherwise a record of several busy keys would never find all of them free at once.
TEST(OrderGate, IsNotOvertakenInALaneItWaitsIn) {
  Gate gate;
  gate.Put(RecordOfLanes(1, {1}));
  gate.Put(RecordOfLanes(11, {1, 2}));
  EXPECT_THAT(gate.Put(RecordOfLanes(21, {2})), IsEmpty())
      << "lane 2 is idle, and its next one came first";
  EXPECT_THAT(Numbers(gate.Done(1)), ElementsAre(11));
  EXPECT_THAT(Numbers(gate.Done(11)), ElementsAre(21));
}

TEST(OrderGate, CountsAHashKeyOfManyUserRecordsOnce) {
  Gate gate;
  EXPECT_THAT(gate.Put(RecordOfLanes(1, {1, 1, 2, 1})), SizeIs(1));
  EXPECT_THAT(gate.Put(RecordOfLanes(11, {1, 1, 1})), IsEmpty());
  EXPECT_EQ(gate.gate.lanes(), 2U);
  EXPECT_THAT(Numbers(gate.Done(1)), ElementsAre(11));
}

TEST(OrderGate, LetsAllGoOnThatWaitedForOne) {
  Gate gate;
  gate.Put(RecordOfLanes(1, {1, 2, 3}));
  gate.Put(RecordOfLanes(11, {3}));
  gate.Put(RecordOfLanes(21, {1}));
  gate.Put(RecordOfLanes(31, {2}));
  EXPECT_THAT(gate.Done(1), SizeIs(3));
}

TEST(OrderGate, KeepsNothingOfWhatIsDone) {
  Gate gate;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const int lane = static_cast<int>(i);
    gate.Put(RecordOfLanes(i, {lane, lane + 1}));
    if (i > 0) gate.Done(i - 1);
  }
  gate.Done(999);
  EXPECT_EQ(gate.gate.lanes(), 0U);
  EXPECT_EQ(gate.gate.waiting(), 0U);
}

TEST(OrderGate, PartsOfAFrameTakeItsLanesOver) {
  Gate gate;
  gate.Put(RecordOfLanes(1, {1, 2}));
  gate.Put(RecordOfLanes(11, {1}));
  gate.Put(RecordOfLanes(21, {2}));
  EXPECT_THAT(Numbers(gate.Split(1, {RecordOfLanes(1, {1}), RecordOfLanes(2, {2})})),
              ElementsAre(1, 2));
  EXPECT_NE(gate.tickets[1], gate.tickets[2]);
  EXPECT_THAT(Numbers(gate.Done(2)), ElementsAre(21))
      << "its lane does not wait for the other part";
  EXPECT_THAT(Numbers(gate.Done(1)), ElementsAre(11));
}

TEST(OrderGate, ALaneThatNoPartHasGoesOn) {
  Gate gate;
  gate.Put(RecordOfLanes(1, {1, 2}));
  gate.Put(RecordOfLanes(11, {1}));
  gate.Put(RecordOfLanes(21, {2}));
  EXPECT_THAT(Numbers(gate.Split(1, {RecordOfLanes(2, {2})})), ElementsAre(2, 11));
  EXPECT_EQ(gate.gate.waiting(), 1U);
}

// The parts of a record whose user records do not fit into one frame any more.
TEST(OrderGate, PartsOfOneLaneGoOneAfterTheOther) {
  Gate gate;
  gate.Put(RecordOfLanes(1, {1, 1}));
  gate.Put(RecordOfLanes(11, {1}));
  EXPECT_THAT(Numbers(gate.Split(1, {RecordOfLanes(1, {1}), RecordOfLanes(2, {1})})),
              ElementsAre(1));
  EXPECT_THAT(Numbers(gate.Done(1)), ElementsAre(2));
  EXPECT_THAT(Numbers(gate.Done(2)), ElementsAre(11));
}

TEST(OrderGate, GivesBackWhatExpiresExactlyThen) {
  Gate gate;
  gate.Put(RecordOfLanes(1, {1}, kStart + seconds(1)));
  gate.Put(RecordOfLanes(11, {1}, kStart + seconds(3)));
  gate.Put(RecordOfLanes(21, {1}, kStart + seconds(2)));
  EXPECT_EQ(gate.gate.NextWake(), kStart + seconds(2))
      << "what has passed does not concern the gate";
  EXPECT_THAT(gate.Lift(kStart + seconds(2) - nanoseconds(1)), IsEmpty());
  EXPECT_THAT(Numbers(gate.Lift(kStart + seconds(2))), ElementsAre(21));
  EXPECT_EQ(gate.gate.NextWake(), kStart + seconds(3));
  EXPECT_THAT(gate.Lift(kStart + seconds(2)), IsEmpty()) << "once is enough";
}

TEST(OrderGate, WhatIsLeftOfAnExpiredOneKeepsItsPlace) {
  Gate gate;
  gate.Put(RecordOfLanes(1, {1}));
  gate.Put(RecordOfLanes(11, {1, 2}, kStart));
  gate.Put(RecordOfLanes(21, {1}));
  gate.Put(RecordOfLanes(31, {2}));
  EXPECT_THAT(Numbers(gate.Lift(kStart)), ElementsAre(11));
  EXPECT_THAT(Numbers(gate.Split(11, {RecordOfLanes(11, {1})})), ElementsAre(31))
      << "lane 2 goes on";
  EXPECT_EQ(gate.gate.NextWake(), kLate);
  EXPECT_THAT(Numbers(gate.Done(1)), ElementsAre(11));
  EXPECT_THAT(Numbers(gate.Done(11)), ElementsAre(21));
}

TEST(OrderGate, AnExpiredOneOfWhichNothingIsLeftMakesRoom) {
  Gate gate;
  gate.Put(RecordOfLanes(1, {1}));
  gate.Put(RecordOfLanes(11, {1, 2}, kStart));
  gate.Put(RecordOfLanes(21, {2}));
  gate.Lift(kStart);
  EXPECT_THAT(Numbers(gate.Done(11)), ElementsAre(21));
  EXPECT_THAT(gate.Done(1), IsEmpty());
}

TEST(OrderGate, OneThatIsLiftedIsNotPassedWhenItsTurnComes) {
  Gate gate;
  gate.Put(RecordOfLanes(1, {1}));
  gate.Put(RecordOfLanes(11, {1}, kStart));
  gate.Put(RecordOfLanes(21, {1}));
  gate.Lift(kStart);
  EXPECT_THAT(gate.Done(1), IsEmpty());
  EXPECT_THAT(Numbers(gate.Split(11, {RecordOfLanes(11, {1})})), ElementsAre(11));
  EXPECT_THAT(Numbers(gate.Done(11)), ElementsAre(21));
}

TEST(OrderGate, GivesAllBackWhoeverClosesIt) {
  Gate gate;
  gate.Put(RecordOfLanes(1, {1}));
  gate.Put(RecordOfLanes(11, {1}));
  gate.Put(RecordOfLanes(21, {1}));
  const Records rest = gate.Lift(Instant{std::numeric_limits<std::int64_t>::max()});
  EXPECT_THAT(Numbers(rest), ElementsAre(11, 21));
  EXPECT_EQ(gate.gate.NextWake(), std::nullopt);
}

/// The rule itself: all records in one list, each compared with all records before it.
class SlowGate {
 public:
  struct Standing {
    Records record;  ///< exactly one
    bool out = false;
  };

  void Put(KinesisRecord record) { list_.push_back({{std::move(record)}}); }
  void Split(std::uint64_t number, Records parts) {
    auto at =
        std::ranges::find(list_, number, [](const Standing& s) { return Number(s.record[0]); });
    at = list_.erase(at);
    for (KinesisRecord& part : parts) at = std::next(list_.insert(at, {{std::move(part)}}));
  }
  std::vector<std::uint64_t> Pass() {
    std::set<HashKey> taken;
    std::vector<std::uint64_t> numbers;
    for (Standing& standing : list_) {
      bool is_free = true;
      for (const UserRecord& user : standing.record[0].records) {
        is_free = is_free && !taken.contains(user.hash);
      }
      for (const UserRecord& user : standing.record[0].records) taken.insert(user.hash);
      if (is_free && !std::exchange(standing.out, true)) {
        numbers.push_back(Number(standing.record[0]));
      }
    }
    std::ranges::sort(numbers);
    return numbers;
  }
  std::vector<std::uint64_t> Lift(Instant now) {
    std::vector<std::uint64_t> numbers;
    for (Standing& standing : list_) {
      if (!standing.out && standing.record[0].expires <= now) {
        standing.out = true;
        numbers.push_back(Number(standing.record[0]));
      }
    }
    std::ranges::sort(numbers);
    return numbers;
  }

 private:
  std::vector<Standing> list_;
};

/// Both gates, and the records that have left the tested one.
struct Pair {
  OrderGate gate;
  SlowGate slow;
  struct Out {
    KinesisRecord record;
    bool has_passed = false;
  };
  std::map<std::uint64_t, Out> out;
  /// The numbers sent from each lane, in order.
  std::map<HashKey, std::vector<std::uint64_t>> sent;
  std::uint64_t next = 1;
  std::size_t ended = 0;

  std::vector<std::uint64_t> Take(Records records, bool has_passed) {
    std::vector<std::uint64_t> numbers = Numbers(records);
    for (KinesisRecord& record : records) {
      const std::uint64_t number = Number(record);
      out[number] = {std::move(record), has_passed};
    }
    std::ranges::sort(numbers);
    return numbers;
  }
  void End(const UserRecord& user, bool has_passed) {
    if (has_passed) sent[user.hash].push_back(user.number);
    ++ended;
  }

  void Put(const std::vector<int>& lanes, Instant expires) {
    KinesisRecord record = RecordOfLanes(next, lanes, expires);
    next += lanes.size();
    slow.Put(record);
    Records passed;
    gate.Put(std::move(record), passed);
    RC_ASSERT(Take(std::move(passed), true) == slow.Pass());
  }

  // The first `results` user records have their results; the others are framed again in frames of
  // `size`.
  void Split(std::ptrdiff_t which, std::size_t results, std::size_t size) {
    const auto [whole, has_passed] = std::move(out.extract(std::next(out.begin(), which)).mapped());
    Records parts;
    for (std::size_t i = 0; i < whole.records.size(); ++i) {
      if (i < results) {
        End(whole.records[i], has_passed);
      } else {
        if (parts.empty() || parts.back().records.size() == size)
          parts.push_back(RecordOfLanes(0, {}));
        parts.back().records.push_back(whole.records[i]);
      }
    }
    slow.Split(Number(whole), parts);
    Records passed;
    if (parts.empty()) {
      gate.Done(whole.ticket, passed);
    } else {
      gate.Split(whole.ticket, std::move(parts), passed);
    }
    RC_ASSERT(Take(std::move(passed), true) == slow.Pass());
  }

  void Lift(Instant now) {
    Records lifted;
    gate.Lift(now, lifted);
    RC_ASSERT(std::ranges::is_sorted(lifted, {}, &KinesisRecord::expires));
    RC_ASSERT(Take(std::move(lifted), false) == slow.Lift(now));
    if (gate.NextWake()) RC_ASSERT(*gate.NextWake() > now);
  }
};

/// Draws from the whole range, however small the test case is.
template <typename T>
T Pick(T first, T end) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(first, end));
}

void Step(Pair& pair) {
  const int kind = Pick(0, 10);
  if (kind < 5) {
    std::vector<int> lanes(Pick<std::size_t>(1, 5));
    for (int& lane : lanes) lane = Pick(0, 6);
    pair.Put(lanes, kStart + seconds(Pick(0, 100)));
  } else if (kind == 5) {
    pair.Lift(kStart + seconds(Pick(0, 50)));
  } else if (!pair.out.empty()) {
    const auto which = Pick<std::ptrdiff_t>(0, std::ssize(pair.out));
    pair.Split(which, Pick<std::size_t>(0, 7), Pick<std::size_t>(1, 4));
  }
}

// Also checks that each user record leaves once, in the order of each lane, and that no record
// remains. Fails if: parts are queued at the end of their lanes (Enqueue ignores `before`); a
// repeated hash key counts twice (LanesOf without unique); a ticket that was already the first of
// its lane is counted again when another leaves (RemovePositions without was_first).
RC_GTEST_PROP(OrderGateProperty, PassesWhatTheSlowOnePasses, ()) {
  Pair pair;
  for (int steps = Pick(1, 100); steps > 0; --steps) Step(pair);
  while (!pair.out.empty()) pair.Split(0, 10, 1);
  RC_ASSERT(pair.gate.waiting() == 0U);
  RC_ASSERT(pair.gate.lanes() == 0U);
  RC_ASSERT(pair.ended == pair.next - 1);
  for (const auto& [lane, numbers] : pair.sent) RC_ASSERT(std::ranges::is_sorted(numbers));
}

}  // namespace
}  // namespace weir::kinesis
