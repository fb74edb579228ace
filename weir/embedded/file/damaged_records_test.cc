// U11: audit events, usage, the clock and reservations: an unreadable row costs only that row.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/embedded/file/file_check.h"
#include "weir/embedded/file/file_repair.h"
#include "weir/embedded/file/store_files.h"
#include "weir/embedded/reading_backend.h"
#include "weir/embedded/reservation/file_reservations.h"
#include "weir/embedded/testing/embedded_records_fixture.h"
#include "weir/model/ulid.h"
#include "weir/runtime/await.h"

namespace weir {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr UnixMillis kHour{1'767'225'600'000};

std::string HexText(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    hex += fmt::format("{:02x}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
  }
  return hex;
}

// Two events and two snapshots of acme, and one of each of globex.
class DamagedRecordsTest : public EmbeddedTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(client_.Open());
    UlidMaker ids;
    for (const char* subject : {"acme", "acme", "globex"}) {
      ASSERT_TRUE(store_.Append({.id = ids.Next(kNow, {.high = 7, .low = 7}),
                                 .subject = subject,
                                 .at = kNow,
                                 .action = "looked",
                                 .principal = "ops",
                                 .resource = "gpt-4",
                                 .details = {{"why", {std::string("asked")}}}}));
    }
    for (const char* resource : {"gpt-4", "gpt-5"}) {
      ASSERT_TRUE(store_.AddUsage(Used("acme", resource)));
    }
    ASSERT_TRUE(store_.AddUsage(Used("globex", "gpt-4")));
    ASSERT_TRUE(client_.Close());
    original_ = ReadFile(client_.path());
  }

  static UsageSnapshot Used(const std::string& entity, const std::string& resource) {
    return {.entity = entity,
            .resource = resource,
            .start = kHour,
            .used = {{"rpm", 7}},
            .overdrawn = {{"rpm", 1}},
            .events = 3};
  }

  // Restores the original file, and changes one value of the first row of acme.
  void DamageValue(const std::string& table, const std::string& column, const std::string& value) {
    WriteFile(client_.path(), original_);
    const std::string who = table == "audit" ? "subject" : "entity";
    RunSql(client_.path(),
           fmt::format("UPDATE OR IGNORE {0} SET {1} = CAST(x'{2}' AS TEXT) WHERE {3} = 'acme' AND "
                       "{4} = (SELECT min({4}) FROM {0} WHERE {3} = 'acme')",
                       table, column, HexText(value), who, table == "audit" ? "id" : "resource"));
  }
  std::string ValueOf(const std::string& table, const std::string& column) {
    WriteFile(client_.path(), original_);
    const std::string who = table == "audit" ? "subject" : "entity";
    return RunSql(client_.path(),
                  fmt::format("SELECT {} FROM {} WHERE {} = 'acme' ORDER BY {}", column, table, who,
                              table == "audit" ? "id" : "resource"))
        .at(0);
  }

  ClientHarness harness_{client_};
  ContractClient store_{harness_};
  std::string original_;
};

// Flips bits of every byte of every text of an event and of a snapshot. Fails if: the file is
// refused, a listing fails, the row is not reported, or another row is missing.
TEST_F(DamagedRecordsTest, U11EveryByteOfARecordFlippedCostsThatRecordAlone) {
  const std::vector<std::pair<std::string, std::string>> columns = {
      {"audit", "subject"},  {"audit", "id"},      {"audit", "action"},   {"audit", "principal"},
      {"audit", "resource"}, {"audit", "details"}, {"usage", "entity"},   {"usage", "resource"},
      {"usage", "span"},     {"usage", "used"},    {"usage", "overdrawn"}};
  for (const auto& [table, column] : columns) {
    const std::string value = ValueOf(table, column);
    ASSERT_NE(value, "");
    for (std::size_t at = 0; at < value.size(); ++at) {
      for (const unsigned mask : {0x80U, 0x01U}) {
        SCOPED_TRACE(fmt::format("{}.{} byte {} of {}, {:x}", table, column, at, value, mask));
        std::string flipped = value;
        flipped[at] = static_cast<char>(static_cast<unsigned char>(flipped[at]) ^ mask);
        DamageValue(table, column, flipped);
        ASSERT_TRUE(client_.Open());
        const auto events = store_.ListEvents("acme", {});
        const auto usage = store_.ListUsage({.entity = "acme"}, {});
        ASSERT_TRUE(events);
        ASSERT_TRUE(usage);
        // If its key has changed, the row is not in this listing.
        const bool is_key = column == "subject" || column == "entity" || column == "id";
        EXPECT_GE(events->items.size() + events->unreadable.size(), is_key ? 1U : 2U);
        EXPECT_GE(events->items.size(), 1U);
        EXPECT_GE(usage->items.size() + usage->unreadable.size(), is_key ? 1U : 2U);
        EXPECT_GE(usage->items.size(), 1U);
        if (mask == 0x80U && !is_key) {
          EXPECT_EQ(events->unreadable.size(), table == "audit" ? 1U : 0U);
          EXPECT_EQ(usage->unreadable.size(), table == "usage" ? 1U : 0U);
        }
        EXPECT_THAT(store_.ListEvents("globex", {})->items, SizeIs(1));
        EXPECT_THAT(store_.ListUsage({.entity = "globex"}, {})->items, SizeIs(1));
        ASSERT_TRUE(client_.Close());
        if (mask == 0x80U) {
          EXPECT_FALSE(CheckFile({.path = client_.path()}, kNow)->sound());
        }
      }
    }
  }
}

TEST_F(DamagedRecordsTest, U11AReaderReportsThemToo) {
  RunSql(client_.path(), "UPDATE audit SET details = '{' WHERE subject = 'acme'");
  const auto reader = OpenToRead(client_.path(), client_.scheduler().clock());
  ASSERT_TRUE(reader);
  Page<AuditEvent> found;
  (*reader)->audit().List("acme", {}, Deadline::Never(), [&](auto page) { found = *page; });
  EXPECT_THAT(found.items, IsEmpty());
  EXPECT_THAT(found.unreadable, SizeIs(2));
  EXPECT_THAT(found.unreadable, Each(HasSubstr("audit acme ")));
}

// Fails if: an unreadable row after the last item of a full page is reported on both pages.
TEST_F(DamagedRecordsTest, U11ADamagedRowBetweenTwoPagesIsReportedOnce) {
  RunSql(client_.path(), "UPDATE usage SET used = '{' WHERE resource = 'gpt-4'");
  ASSERT_TRUE(client_.Open());
  const auto first = store_.ListUsage({.entity = "acme"}, {.limit = 1});
  ASSERT_TRUE(first);
  ASSERT_THAT(first->items, SizeIs(1));
  EXPECT_THAT(first->unreadable, IsEmpty());
  const auto second = store_.ListUsage({.entity = "acme"}, {.cursor = first->next, .limit = 1});
  ASSERT_TRUE(second);
  EXPECT_THAT(second->items, IsEmpty());
  EXPECT_THAT(second->unreadable, ElementsAre(HasSubstr("usage acme on gpt-4")));
  EXPECT_EQ(second->next, "");
}

TEST_F(DamagedRecordsTest, U11AReaderReportsDamagedRowsOfTheConfiguration) {
  RunSql(client_.path(), "INSERT INTO level VALUES('galaxy', 'acme', '', '{}', NULL, 0)");
  const auto reader = OpenToRead(client_.path(), client_.scheduler().clock());
  ASSERT_TRUE(reader);
  const auto* source = dynamic_cast<const DamageSource*>(reader->get());
  ASSERT_NE(source, nullptr);
  EXPECT_THAT(source->damage().first(), ElementsAre(HasSubstr("level galaxy acme")));
}

// Fails if: looser limits of the next level apply while those of a level are damaged.
TEST_F(DamagedRecordsTest, ALevelThatIsDamagedFailsUntilItIsSetOrDeleted) {
  const LevelLimits strict{.limits = {{"rpm", PerMinute(5)}}};
  const Level damaged = Level::Resource("gpt-4");
  const std::vector<Level> levels{Level::Entity("acme", "gpt-4"), damaged, Level::System()};
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Apply(
      {PutLimits{damaged, strict},
       PutLimits{Level::System(), LevelLimits{.limits = {{"rpm", PerMinute(1'000)}}}}}));
  ASSERT_TRUE(client_.Close());
  RunSql(client_.path(), "UPDATE level SET limits = 'xx' WHERE resource = 'gpt-4'");
  const auto read = [&](Backend& backend, const std::vector<Level>& of) {
    return Await<std::vector<std::optional<LevelLimits>>>(
        [&](auto done) { backend.config().GetLimits(of, Deadline::Never(), std::move(done)); });
  };
  {
    const auto reader = OpenToRead(client_.path(), client_.scheduler().clock());
    ASSERT_TRUE(reader);
    EXPECT_EQ(read(**reader, levels).error().code, Code::kDataLoss);
  }
  ASSERT_TRUE(client_.Open());
  const auto failed = read(client_.backend(), levels);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kDataLoss);
  EXPECT_THAT(failed.error().message, HasSubstr("resource gpt-4: its limits are damaged"));
  EXPECT_TRUE(read(client_.backend(), {Level::Resource("gpt-5"), Level::System()}));
  EXPECT_FALSE(client_.Apply({PutLimits{damaged, strict}, DeleteLimits{Level::Resource("x")}}));
  EXPECT_FALSE(read(client_.backend(), levels)) << "nothing was changed";
  ASSERT_TRUE(client_.Apply({DeleteLimits{damaged}}));
  EXPECT_TRUE(read(client_.backend(), levels));
  ASSERT_TRUE(client_.Close());
  ASSERT_TRUE(client_.Open());
  EXPECT_TRUE(read(client_.backend(), levels)) << "the row is gone";
}

// Fails if: the limits of the parent are not charged while the parent cannot be read.
TEST_F(DamagedRecordsTest, AnEntityWhoseParentIsDamagedFailsUntilItIsCreatedAgainOrDeleted) {
  const std::vector<std::string> ids{"other", "kid"};
  const auto read = [&](Backend& backend) {
    return Await<std::vector<std::optional<EntityRecord>>>(
        [&](auto done) { backend.config().GetEntities(ids, Deadline::Never(), std::move(done)); });
  };
  const Entity kid{.id = "kid", .parent = "acme", .cascade = true};
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Apply({PutEntity{{.entity = {.id = "other"}}}, PutEntity{{.entity = kid}}}));
  ASSERT_TRUE(client_.Close());
  const std::string sound = ReadFile(client_.path());
  for (const char* const damage : {"parent = CAST(x'61ff' AS TEXT)", "parent = ''", "cascade = 2",
                                   "cascade = 'x'", "parent = 'kid'"}) {
    for (const bool created_again : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", damage, created_again));
      WriteFile(client_.path(), sound);
      RunSql(client_.path(), fmt::format("UPDATE entity SET {} WHERE id = 'kid'", damage));
      {
        const auto reader = OpenToRead(client_.path(), client_.scheduler().clock());
        ASSERT_TRUE(reader);
        EXPECT_EQ(read(**reader).error().code, Code::kDataLoss);
      }
      ASSERT_TRUE(client_.Open());
      EXPECT_THAT(client_.backend().damage().first(), ElementsAre(HasSubstr("entity kid")));
      const auto failed = read(client_.backend());
      ASSERT_FALSE(failed);
      EXPECT_EQ(failed.error().code, Code::kDataLoss);
      EXPECT_THAT(failed.error().message, HasSubstr("entity kid: its entry is damaged"));
      const ConfigChange mended = created_again ? ConfigChange(CreateEntity{{.entity = kid}})
                                                : ConfigChange(DeleteEntity{"kid"});
      EXPECT_FALSE(client_.Apply({mended, DeleteEntity{"nobody"}}));
      EXPECT_FALSE(read(client_.backend())) << "nothing was changed";
      ASSERT_TRUE(client_.Apply({mended}));
      EXPECT_EQ(read(client_.backend())->at(1).has_value(), created_again);
      ASSERT_TRUE(client_.Close());
      ASSERT_TRUE(client_.Open());
      EXPECT_THAT(client_.backend().damage().first(), IsEmpty());
      EXPECT_EQ(read(client_.backend())->at(1).has_value(), created_again);
      ASSERT_TRUE(client_.Close());
    }
  }
}

// Fails if: requests fail although no damage can hide a parent to which they are charged.
TEST_F(DamagedRecordsTest, AnEntityThatIsChargedToNoParentDoesNotFail) {
  const std::vector<std::string> ids{"kid"};
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Apply({PutEntity{{.entity = {.id = "kid"}}}}));
  ASSERT_TRUE(client_.Close());
  const std::string sound = ReadFile(client_.path());
  for (const char* const damage : {"cascade = 2", "parent = 'kid'"}) {
    SCOPED_TRACE(damage);
    WriteFile(client_.path(), sound);
    RunSql(client_.path(), fmt::format("UPDATE entity SET {} WHERE id = 'kid'", damage));
    ASSERT_TRUE(client_.Open());
    EXPECT_TRUE(Await<std::vector<std::optional<EntityRecord>>>([&](auto done) {
      client_.backend().config().GetEntities(ids, Deadline::Never(), std::move(done));
    }));
    ASSERT_TRUE(client_.Close());
  }
}

// Fails if: a damaged row is overwritten, or usage is added to a text without numbers.
TEST_F(DamagedRecordsTest, U11UsageIsNotAddedToARowThatDoesNotRead) {
  RunSql(client_.path(), "UPDATE usage SET used = '{' WHERE resource = 'gpt-5'");
  ASSERT_TRUE(client_.Open());
  const Status added = store_.AddUsage(Used("acme", "gpt-5"));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Code::kDataLoss);
  EXPECT_THAT(added.error().message, HasSubstr("weir store repair"));
  EXPECT_TRUE(store_.AddUsage(Used("acme", "gpt-4")));
}

// Fails if: an impossible base leads to a bucket time that no bucket can have, or the file is
// refused.
TEST_F(DamagedRecordsTest, U11AClockThatDoesNotReadBeginsByTheWallClock) {
  for (const char* const damage :
       {"base = 'x'", "base = 9223372036854775807", "counted = -5", "boot = CAST(x'ff' AS TEXT)",
        "counted_at = 1.5", "counted_at = 9223372036855", "correction = -9223372036854775807"}) {
    SCOPED_TRACE(damage);
    WriteFile(client_.path(), original_);
    RunSql(client_.path(), fmt::format("UPDATE clock SET {}", damage));
    EXPECT_FALSE(CheckFile({.path = client_.path()}, kNow)->sound());
    ASSERT_TRUE(client_.Open());
    EXPECT_THAT(client_.backend().damage().first(), ElementsAre(HasSubstr("clock")));
    const auto ahead = client_.backend().buckets().Now() - client_.now();
    EXPECT_LE(std::chrono::abs(ahead), milliseconds(2000));
    ASSERT_TRUE(client_.Close());
    ASSERT_TRUE(client_.Open());
    EXPECT_THAT(client_.backend().damage().first(), IsEmpty());
    EXPECT_THAT(store_.ListEvents("acme", {})->items, SizeIs(2));
    ASSERT_TRUE(client_.Close());
  }
}

class DamagedReservationsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto opened = OpenFileReservations(path_, clock_);
    ASSERT_TRUE(opened);
    for (const char* const id : {"w-1", "w-2"}) {
      (*opened)->slots().Claim(
          {.slot = {.key = kAccount, .id = id}, .limit = 2, .ttl = std::chrono::hours(1)},
          (*opened)->Now(clock_), Deadline::Never(),
          [](auto claimed) { ASSERT_TRUE(claimed->slot); });
    }
  }
  std::int64_t FreeSlots() {
    const auto opened = OpenFileReservations(path_, clock_);
    EXPECT_TRUE(opened) << opened.error().message;
    std::int64_t in_use = 0;
    (*opened)->slots().Claim(
        {.slot = {.key = kAccount, .id = "w-9"}, .limit = 0, .ttl = std::chrono::hours(1)},
        (*opened)->Now(clock_), Deadline::Never(), [&](auto claimed) { in_use = claimed->in_use; });
    return 2 - in_use;
  }

  TempFolder folder_;
  sim::SimClock clock_;
  std::string path_ = folder_ / "weir.db";
  StoreFile file_{.path = path_ + "-reservations", .kind = StoreFile::Kind::kReservations};
};

// Fails if: a slot that may be in use is given to another holder.
TEST_F(DamagedReservationsTest, U11ASlotThatDoesNotReadIsHeldAfterARepair) {
  RunSql(file_.path, "UPDATE slot SET expires = -5 WHERE id = 'w-1'");
  EXPECT_FALSE(CheckFile(file_, kNow)->sound());
  const auto repair = RepairFile(file_, {.clock = clock_});
  ASSERT_TRUE(repair) << repair.error().message;
  EXPECT_EQ(repair->damage.count("slot"), 1U);
  EXPECT_EQ(FreeSlots(), 0);
  EXPECT_TRUE(CheckFile(file_, kNow)->sound());
}

TEST_F(DamagedReservationsTest, U11AFileOfReservationsIsRepaired) {
  std::string content = ReadFile(file_.path);
  content.replace(0, 16, 16, '\x5a');
  WriteFile(file_.path, content);
  const auto refused = OpenFileReservations(path_, clock_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("weir store repair"));
  const auto repair = RepairFile(file_, {.clock = clock_});
  ASSERT_TRUE(repair) << repair.error().message;
  EXPECT_EQ(ReadFile(repair->kept_as), content);
  EXPECT_EQ(FreeSlots(), 0);
}

// Fails if: an account whose limit is the caller's default keeps a balance that may be old, or a
// debt is forgotten.
TEST_F(DamagedReservationsTest, U11AfterALostPageNoAccountHasTokens) {
  const auto take = [&](const char* account, std::int64_t count, std::int64_t limit) {
    const auto opened = OpenFileReservations(path_, clock_);
    EXPECT_TRUE(opened) << opened.error().message;
    TokenResult result;
    (*opened)->tokens().Take({.resource = "api", .account = account},
                             {.limit = limit, .window = std::chrono::hours(1)}, count,
                             (*opened)->Now(clock_), Deadline::Never(),
                             [&](auto received) { result = *received; });
    return result;
  };
  EXPECT_TRUE(take("ann", 4, 10).taken);
  EXPECT_TRUE(take("bob", 100, 100).taken);
  EXPECT_EQ(take("bob", 1, 10).available, -90);
  std::string content = ReadFile(file_.path);
  const std::size_t slots = content.find("w-1") / 4096 * 4096;
  WriteFile(file_.path, content.replace(slots, 4096, 4096, '\x5a'));
  const auto repair = RepairFile(file_, {.clock = clock_});
  ASSERT_TRUE(repair) << repair.error().message;
  EXPECT_TRUE(repair->lacks_records());
  EXPECT_EQ(repair->emptied_buckets, 2U);
  EXPECT_EQ(take("ann", 1, 10).available, 0);
  EXPECT_EQ(take("bob", 1, 10).available, -90);
}

// Fails if: a repair replaces a file while a process continues to write to the old one.
TEST_F(DamagedReservationsTest, U11AFileThatAnotherProcessHasOpenIsNotReplaced) {
  RunSql(file_.path, "UPDATE slot SET expires = -5 WHERE id = 'w-1'");
  const std::string before = ReadFile(file_.path);
  const auto opened = OpenFileReservations(path_, clock_);
  ASSERT_TRUE(opened);
  const auto repair = RepairFile(file_, {.clock = clock_});
  ASSERT_FALSE(repair);
  EXPECT_EQ(repair.error().code, Code::kUnavailable);
  EXPECT_THAT(repair.error().message, HasSubstr("has the file open"));
  EXPECT_EQ(ReadFile(file_.path), before);
}

}  // namespace
}  // namespace weir
