#include "weir/archive/archive_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "weir/archive/archive_partitions.h"
#include "weir/archive/testing/bucket_fixture.h"
#include "weir/codec/iso_time.h"
#include "weir/model/ulid.h"

namespace weir {
namespace {

using std::chrono::hours;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr UnixMillis kNewYear{1'767'225'600'000};  // 2026-01-01T00:00:00Z

class ArchiveReaderTest : public testing::Test {
 protected:
  // Returns the id of a new event.
  std::string NewId(UnixMillis at) { return UlidMaker().Next(at, {.high = 7, .low = ++number_}); }

  static std::string LineOf(const std::string& id, UnixMillis at, const std::string& subject,
                            const std::string& space = "ns-1") {
    return fmt::format(
        R"({{"event_id":"{}","entity_id":"{}","action":"limits_set","timestamp":"{}",)"
        R"("principal":"me","resource":null,"details":{{}},"namespace_id":"{}"}})"
        "\n",
        id, subject, dynamo::FormatIso(at), space);
  }

  // Returns a key as Weir's archiver makes it.
  std::string KeyOf(UnixMillis at) {
    std::string time = dynamo::FormatIso(at);
    std::ranges::replace(time, ':', '-');
    return fmt::format("audit/year={}/month={}/day={}/audit-{}-{:036}.jsonl.gz", time.substr(0, 4),
                       time.substr(5, 2), time.substr(8, 2), time, ++number_);
  }

  // Archives an event in an object of its own. Returns the event's id.
  std::string Put(UnixMillis at, const std::string& subject = "acme",
                  const std::string& space = "ns-1", const std::string& prefix = "") {
    const std::string id = NewId(at);
    archive_.s3.objects[prefix + KeyOf(at)] = Packed(LineOf(id, at, subject, space));
    return id;
  }

  std::vector<std::string> Ids(const ArchiveQuery& query, const std::string& prefix = "") {
    std::vector<std::string> ids;
    const auto page = archive_.Read(query, prefix);
    EXPECT_TRUE(page) << page.error().message;
    if (!page) return ids;
    EXPECT_THAT(page->unreadable, IsEmpty());
    for (const ArchivedEvent& read : page->events) ids.push_back(read.event.id);
    next_ = page->next;
    return ids;
  }

  ArchiveFixture archive_;
  std::uint64_t number_ = 0;
  std::string next_;
};

// Fails if: days, months or years are listed as texts, or an object on a later page of the listing
// is not read.
TEST_F(ArchiveReaderTest, TheNewestComesFirst) {
  std::vector<std::string> ids;
  for (const int day : {-400, -70, -32, -3, -2, -1, 0, 1, 9, 10, 40}) {
    for (const int hour : {0, 1, 12, 23}) ids.push_back(Put(kNewYear + hours(24 * day + hour)));
  }
  Put(kNewYear, "bolt");
  std::ranges::reverse(ids);
  EXPECT_EQ(Ids({.subject = "acme"}), ids);
  EXPECT_EQ(next_, "");
}

TEST_F(ArchiveReaderTest, PagesOfAnySizeHaveAllEventsOnce) {
  std::vector<std::string> ids;
  for (int hour = 0; hour < 40; ++hour) ids.push_back(Put(kNewYear + hours(hour)));
  std::ranges::reverse(ids);
  for (const std::size_t most : {1U, 7U, 24U, 39U, 40U, 41U}) {
    std::vector<std::string> paged;
    next_.clear();
    do {
      const auto page = Ids({.subject = "acme", .after = next_, .most = most});
      ASSERT_THAT(page, Not(IsEmpty()));
      ASSERT_LE(page.size(), most);
      paged.insert(paged.end(), page.begin(), page.end());
    } while (!next_.empty());
    EXPECT_EQ(paged, ids) << most;
  }
}

// Fails if: a whole archive is read for events of a few days.
TEST_F(ArchiveReaderTest, PartitionsOutsideOfTheRangeAreNotListed) {
  std::vector<std::string> ids;
  for (int day = -100; day < 100; ++day) ids.push_back(Put(kNewYear + hours(24 * day + 6)));
  const auto in_range =
      Ids({.subject = "acme", .start = kNewYear + hours(24 * 2), .end = kNewYear + hours(24 * 4)});
  EXPECT_THAT(in_range, ElementsAre(ids[103], ids[102]));
  EXPECT_THAT(archive_.s3.listed,
              ElementsAre("audit/", "audit/year=2026/", "audit/year=2026/month=01/",
                          "audit/year=2026/month=01/day=04/", "audit/year=2026/month=01/day=03/"));
  EXPECT_THAT(archive_.s3.got, SizeIs(2));
}

// Fails if: objects of newer events are read again for each page.
TEST_F(ArchiveReaderTest, APageReadsNoNewerObjectsThanItsCursor) {
  std::vector<std::string> ids;
  for (int hour = 0; hour < 24; ++hour) ids.push_back(Put(kNewYear + hours(hour)));
  EXPECT_THAT(Ids({.subject = "acme", .after = ids[2]}), ElementsAre(ids[1], ids[0]));
  EXPECT_THAT(archive_.s3.got, SizeIs(3)) << "the cursor's own event, and the older ones";
}

// Fails if: the bounds of the range, or those of a day, are wrong by one.
TEST_F(ArchiveReaderTest, TheRangeHasItsStartAndNotItsEnd) {
  const std::string before = Put(kNewYear - milliseconds(1000));
  const std::string first = Put(kNewYear);
  const std::string last = Put(kNewYear + hours(24) - milliseconds(1000));
  const std::string behind = Put(kNewYear + hours(24));
  EXPECT_THAT(Ids({.subject = "acme", .start = kNewYear, .end = kNewYear + hours(24)}),
              ElementsAre(last, first));
  EXPECT_THAT(Ids({.subject = "acme", .after = behind}), ElementsAre(last, first, before));
}

TEST_F(ArchiveReaderTest, ANamespaceIsSelected) {
  Put(kNewYear, "acme", "ns-2");
  const std::string ours = Put(kNewYear, "acme", "ns-1");
  EXPECT_THAT(Ids({.subject = "acme", .namespace_id = "ns-1"}), ElementsAre(ours));
  EXPECT_THAT(Ids({.subject = "acme"}), SizeIs(2));
}

TEST_F(ArchiveReaderTest, AnArchiveMayHaveAPrefix) {
  Put(kNewYear);
  const std::string ours = Put(kNewYear, "acme", "ns-1", "table-1/");
  EXPECT_THAT(Ids({.subject = "acme"}, "table-1/"), ElementsAre(ours));
  EXPECT_THAT(Ids({.subject = "acme"}, "nothing/"), IsEmpty());
}

// Fails if: an event is returned twice because its record was archived twice.
TEST_F(ArchiveReaderTest, AnEventThatIsArchivedTwiceIsReturnedOnce) {
  const std::string line = LineOf(NewId(kNewYear), kNewYear, "acme");
  archive_.s3.objects[KeyOf(kNewYear)] = Packed(line);
  archive_.s3.objects[KeyOf(kNewYear)] = Packed(line + line);
  EXPECT_THAT(Ids({.subject = "acme"}), SizeIs(1));
}

// Objects of zae-limiter: several events, named by a request and the time of the earliest.
TEST_F(ArchiveReaderTest, ObjectsOfZaeLimiterAreRead) {
  const std::string first = NewId(kNewYear + hours(1));
  const std::string second = NewId(kNewYear + hours(5));
  archive_.s3.objects
      ["audit/year=2026/month=01/day=01/audit-8f3b9a2e-1d4c-4f6e-9b7a-0c1d2e3f4a5b-"
       "2026-01-01T01-00-00Z.jsonl.gz"] =
      Packed(LineOf(first, kNewYear + hours(1), "acme") +
             LineOf(NewId(kNewYear), kNewYear + hours(2), "bolt") +
             LineOf(second, kNewYear + hours(5), "acme"));
  EXPECT_THAT(Ids({.subject = "acme"}), ElementsAre(second, first));
  archive_.s3.got.clear();
  EXPECT_THAT(Ids({.subject = "acme", .after = NewId(kNewYear)}), IsEmpty());
  EXPECT_THAT(archive_.s3.got, IsEmpty()) << "all its events are newer";
}

// Fails if: one damaged line hides other events, or is not reported.
TEST_F(ArchiveReaderTest, ADamagedLineIsReportedAndTheOthersAreReturned) {
  const std::string key = KeyOf(kNewYear);
  archive_.s3.objects[key] =
      Packed(LineOf(NewId(kNewYear), kNewYear, "acme") + "\n{\"event_id\":\n" +
             LineOf(NewId(kNewYear), kNewYear, "acme"));
  const auto page = archive_.Read({.subject = "acme"});
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(page->events, SizeIs(2));
  EXPECT_THAT(page->unreadable, ElementsAre(StartsWith(key + ", line 3: ")));
}

TEST_F(ArchiveReaderTest, ADamagedObjectIsReportedAndTheOthersAreReturned) {
  Put(kNewYear);
  const std::string cut = KeyOf(kNewYear);
  archive_.s3.objects[cut] = Packed("x").substr(0, 12);
  const std::string bomb = KeyOf(kNewYear);
  archive_.s3.objects[bomb] = Packed(std::string(2000, ' '));
  const std::string large = KeyOf(kNewYear);
  archive_.s3.objects[large] = std::string(1001, 'x');
  const std::string cold = KeyOf(kNewYear);
  archive_.s3.objects[cold] = "x";
  archive_.s3.refused[cold] = {
      .status = 403,
      .headers = {{"x-amz-request-id", "R2"}},
      .body =
          "<Error><Code>InvalidObjectState</Code><Message>The operation is not valid for the "
          "object's storage class</Message></Error>"};
  archive_.bounds = {.max_packed = 1000, .max_unpacked = 1000};
  const auto page = archive_.Read({.subject = "acme"});
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(page->events, SizeIs(1));
  EXPECT_THAT(page->unreadable,
              testing::UnorderedElementsAre(
                  cut + ": it is not gzip, or it is damaged",
                  bomb + ": it has more than 1000 bytes when unpacked",
                  large + ": it has 1001 bytes, more than 1000",
                  cold + ": GetObject at h: 403 InvalidObjectState: The operation is not valid for "
                         "the object's storage class (request R2)"));
  EXPECT_THAT(archive_.s3.got, Not(Contains(large)));
}

TEST_F(ArchiveReaderTest, TheReportIsBounded) {
  std::string lines;
  for (int i = 0; i < 50; ++i) lines += "?\n";
  archive_.s3.objects[KeyOf(kNewYear)] = Packed(lines);
  archive_.bounds.max_reported = 3;
  const auto page = archive_.Read({.subject = "acme"});
  ASSERT_TRUE(page);
  ASSERT_THAT(page->unreadable, SizeIs(4));
  EXPECT_EQ(page->unreadable.back(), "47 more");
}

// Fails if: a missing permission is taken for a missing event.
TEST_F(ArchiveReaderTest, ARefusedRequestIsAnError) {
  const std::string key = KeyOf(kNewYear);
  archive_.s3.objects[key] = "x";
  archive_.s3.refused[key] = {
      .status = 403,
      .headers = {{"x-amz-request-id", "R3"}},
      .body = "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"};
  const auto refused = archive_.Read({.subject = "acme"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
  EXPECT_THAT(refused.error().message, HasSubstr("403 AccessDenied: Access Denied (request R3)"));
}

// Fails if: a service that repeats a page keeps the reader busy without end.
TEST_F(ArchiveReaderTest, APageThatNamesItselfAsTheNextOneIsAnError) {
  Put(kNewYear);
  archive_.s3.repeats_pages = true;
  const auto refused = archive_.Read({.subject = "acme"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDataLoss);
  EXPECT_THAT(refused.error().message, HasSubstr("a page names itself as the next one"));
}

// Fails if: a year that std::chrono cannot express excludes all events.
TEST_F(ArchiveReaderTest, ARangeMayReachBeyondTheCalendar) {
  const std::string ours = Put(kNewYear);
  const UnixMillis year_40000{1'200'000'000'000'000};
  for (const UnixMillis far : {year_40000, UnixMillis{INT64_MAX}}) {
    EXPECT_THAT(Ids({.subject = "acme", .end = far}), ElementsAre(ours)) << far.value;
    EXPECT_THAT(Ids({.subject = "acme", .start = UnixMillis{-far.value}}), ElementsAre(ours));
    EXPECT_THAT(Ids({.subject = "acme", .start = far}), IsEmpty());
  }
}

TEST_F(ArchiveReaderTest, OtherObjectsAreNotRead) {
  Put(kNewYear);
  for (const char* other : {"audit/readme.txt", "audit/year=x/a", "audit/year=2026/notes",
                            "audit/year=2026/month=1/day=01/audit-x.jsonl.gz",
                            "audit/year=2026/month=01/day=01/other.gz", "elsewhere/x"}) {
    archive_.s3.objects[other] = "not gzip";
  }
  EXPECT_THAT(Ids({.subject = "acme"}), SizeIs(1));
}

TEST_F(ArchiveReaderTest, BadQueriesAreRefused) {
  EXPECT_EQ(archive_.Read({.subject = "a#b"}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(archive_.Read({.subject = "acme", .after = "x"}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(archive_.Read({.subject = "acme", .most = 0}).error().code, Code::kInvalidArgument);
  EXPECT_THAT(archive_.s3.listed, IsEmpty());
}

TEST(ArchivePartitions, TheTimeOfAKey) {
  const UnixMillis time{1'769'850'307'000};
  EXPECT_EQ(TimeOfKey("audit/day=31/audit-2026-01-31T09-05-07Z-0004711.jsonl.gz"), time);
  EXPECT_EQ(TimeOfKey("audit/audit-1-2-2026-01-31T09-05-07Z.jsonl.gz"), time);
  EXPECT_EQ(TimeOfKey("audit/audit-x.jsonl.gz"), std::nullopt);
  EXPECT_EQ(TimeOfKey("audit-2026-13-31T09-05-07Z"), std::nullopt);
}

}  // namespace
}  // namespace weir
