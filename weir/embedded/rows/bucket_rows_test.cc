// U11, C18: an unreadable row costs only that row.
#include "weir/embedded/rows/bucket_rows.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "weir/embedded/testing/embedded_fixture.h"
#include "weir/store/bucket/bucket_state.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string HexOf(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    hex += fmt::format("{:02x}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
  }
  return hex;
}

std::string Flipped(std::string bytes, std::size_t at, unsigned mask) {
  bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ mask);
  return bytes;
}

// Three buckets of 1000 tokens each. In the table, all have 999 tokens left; in the log, acme-0 and
// acme-1 have 899.
class DamagedRowsTest : public EmbeddedTest {
 protected:
  static constexpr int kBuckets = 3;

  static TargetPtr Acme(int i) { return StillTarget(fmt::format("acme-{}", i)); }

  void SetUp() override {
    ASSERT_TRUE(client_.Open());
    ASSERT_TRUE(client_.Apply(
        {PutLimits{Level::Resource("gpt-4"), {.limits = {Still("rpm", 1000)}}},
         PutEntity{{.entity = {.id = "acme-0", .name = "Acme", .metadata = {{"plan", "gold"}}}}}}));
    for (int i = 0; i < kBuckets; ++i) ASSERT_TRUE(client_.Acquire({Take(Acme(i), 1)})->admitted);
    ASSERT_TRUE(client_.Close());
    ASSERT_TRUE(client_.Open());
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(client_.Acquire({Take(Acme(i), 100)})->admitted);
    client_.Commit();
    killed_ = client_.CopyAsKilled();
    RunSql(killed_, "PRAGMA journal_mode = DELETE");
    original_ = ReadFile(killed_);
    ASSERT_TRUE(client_.Close());
  }

  // Restores the original file, and runs `sql` on it.
  void Damage(const std::string& sql) {
    WriteFile(killed_, original_);
    RunSql(killed_, sql);
  }

  std::vector<std::int64_t> Tokens(EmbeddedClient& client) {
    std::vector<std::int64_t> tokens;
    for (int i = 0; i < kBuckets; ++i) tokens.push_back(client.Balance(Acme(i)) / kMillitokens);
    return tokens;
  }

  // Opens the damaged file, and returns the reported damage and the tokens of the buckets.
  struct Opened {
    std::vector<std::string> damage;
    std::vector<std::int64_t> tokens;
  };
  Opened Open() {
    EmbeddedClient client(killed_);
    const Status opened = client.Open();
    EXPECT_TRUE(opened) << opened.error().message;
    if (!opened) return {};
    Opened found{.damage = client.backend().damage().first(), .tokens = Tokens(client)};
    EXPECT_TRUE(client.Close());
    return found;
  }

  std::string killed_;
  std::string original_;
};

TEST_F(DamagedRowsTest, AFileWithoutDamageReportsNone) {
  const Opened opened = Open();
  EXPECT_THAT(opened.damage, IsEmpty());
  EXPECT_THAT(opened.tokens, ElementsAre(899, 899, 999));
}

// Fails if: a bucket is forgotten, which would make it full, or the file is refused.
TEST_F(DamagedRowsTest, U11ADamagedBucketIsEmptyAndTheOthersAreAsTheyWere) {
  Damage("UPDATE bucket SET limits = '{\"rpm\":[1,2]}' WHERE entity = 'acme-2'");
  const Opened opened = Open();
  EXPECT_THAT(opened.damage,
              ElementsAre(AllOf(HasSubstr("bucket acme-2/gpt-4"), HasSubstr("it is empty"))));
  EXPECT_THAT(opened.tokens, ElementsAre(899, 899, 0));
}

// Fails if: the shard is cut to 32 bits, so that the row counts as one that the log overrides.
TEST_F(DamagedRowsTest, U11ARowWhoseShardIsTooLargeIsReported) {
  Damage("UPDATE bucket SET shard = 4294967296 WHERE entity = 'acme-0'");
  const Opened opened = Open();
  EXPECT_THAT(opened.damage,
              ElementsAre(AllOf(HasSubstr("bucket acme-0/gpt-4"), HasSubstr("left out"))));
  EXPECT_THAT(opened.tokens, ElementsAre(899, 899, 999));
}

// Fails if: each short-lived process finds the damage again, so that the bucket is empty for good.
TEST_F(DamagedRowsTest, U11ADamagedBucketIsReportedOnce) {
  Damage("UPDATE bucket SET limits = '{' WHERE entity = 'acme-2'");
  EXPECT_THAT(Open().damage, SizeIs(1));
  EXPECT_THAT(Open().damage, IsEmpty());
  EXPECT_THAT(Open().tokens, ElementsAre(899, 899, 0));
}

// Fails if: a limit that only a request names, and that takes more than a year to become full, has
// tokens in the emptied bucket.
TEST_F(DamagedRowsTest, ADamagedBucketHasNoTokensOfASlowLimit) {
  Damage("UPDATE bucket SET limits = '{' WHERE entity = 'acme-2'");
  const Limit slow{"slow", {.capacity = 1'000'000, .amount = 1'000, .period = 86'400'000}};
  EmbeddedClient client(killed_);
  ASSERT_TRUE(client.Open());
  const TargetPtr target = MakeTarget(Acme(2)->key, {slow}, LimitSource::kOverride);
  EXPECT_FALSE(client.Acquire({Take(target, 1)})->admitted);
}

// Fails if: the debt of a limit that is not configured is forgiven, because the rest of the row or
// the latest change is unreadable.
TEST_F(DamagedRowsTest, DebtsOfExtraLimitsOfADamagedBucketStay) {
  const TargetPtr job = MakeTarget(Acme(1)->key, {Still("job", 10)}, LimitSource::kOverride);
  const TargetPtr rpm = MakeTarget(Acme(1)->key, {Still("rpm", 1000)}, LimitSource::kOverride);
  ASSERT_TRUE(client_.Open());
  ASSERT_TRUE(client_.Adjust({Take(job, 50)}));
  client_.Commit();
  const std::string in_log = client_.CopyAsKilled();
  ASSERT_TRUE(client_.Close());
  const std::string in_table = client_.CopyAsKilled();
  RunSql(in_log,
         "INSERT INTO change SELECT max(seq) + 1, '[[\"acme-1\",\"gpt-4\",0,x' FROM change");
  // The extra meter of a limit that is configured becomes a configured one.
  RunSql(in_table,
         "UPDATE bucket SET limits = '{', extras = replace(extras, '\"limits\":{', "
         "'\"limits\":{\"rpm\":[-7000,0,0,10000,1,31622400000,31622400000,1767225600013],') "
         "WHERE entity = 'acme-1'");
  for (const std::string& path : {in_log, in_table}) {
    SCOPED_TRACE(path);
    EmbeddedClient client(path);
    ASSERT_TRUE(client.Open());
    EXPECT_EQ(client.backend().damage().count(), 1U);
    const auto record = client.Read(Acme(1)->key);
    ASSERT_TRUE(record);
    EXPECT_EQ(ViewOf(&*record, *job, 0, client.now()).meter.tokens, -40'000);
    EXPECT_EQ(ViewOf(&*record, *rpm, 0, client.now()).meter.tokens, path == in_table ? -7000 : 0);
    EXPECT_THAT(record->names, ElementsAre("rpm"));
    EXPECT_THAT(record->extras.meters, SizeIs(1));
  }
}

// Fails if: the row in the table, which is older, is used.
TEST_F(DamagedRowsTest, U11ABucketWhoseLatestChangeDoesNotReadIsEmpty) {
  Damage(
      "UPDATE change SET data = replace(data, '\"acme-1\",\"gpt-4\",0,', "
      "'\"acme-1\",\"gpt-4\",0,x')");
  const Opened opened = Open();
  EXPECT_THAT(opened.damage, ElementsAre(HasSubstr("a change of acme-1/gpt-4 is unreadable")));
  EXPECT_THAT(opened.tokens, ElementsAre(899, 0, 999));
}

TEST_F(DamagedRowsTest, U11AChangeOfAnUnknownBucketIsReported) {
  Damage("INSERT INTO change VALUES(99, '[[\"zeta-1\",\"gpt')");
  const Opened opened = Open();
  EXPECT_THAT(opened.damage, ElementsAre(HasSubstr("change 99: a change of an unknown bucket")));
  EXPECT_THAT(opened.tokens, ElementsAre(899, 899, 999));
}

TEST_F(DamagedRowsTest, C18NumbersThatNoBucketHasAreDamage) {
  for (const char* const limits : {"{\"rpm\":[-9000000000000000000,0,0,10,10,1000]}",
                                   "{\"rpm\":[1,0,0,10,10,1000],\"rpm\":[1,0,0,10,10,1000]}",
                                   "{\"r\\u0007m\":[1,0,0,10,10,1000]}"}) {
    SCOPED_TRACE(limits);
    Damage(fmt::format("UPDATE bucket SET limits = '{}' WHERE entity = 'acme-2'", limits));
    EXPECT_THAT(Open().tokens, ElementsAre(899, 899, 0));
  }
  for (const char* const time : {"-1", "9223372036854775807"}) {
    SCOPED_TRACE(time);
    Damage(fmt::format("UPDATE bucket SET time = {} WHERE entity = 'acme-2'", time));
    const Opened opened = Open();
    EXPECT_THAT(opened.damage, ElementsAre(HasSubstr("an impossible time")));
    EXPECT_THAT(opened.tokens, ElementsAre(899, 899, 0));
  }
}

// Returns the line of bucket `acme-i` in a log of two lines. Their order follows from the hashes of
// the keys.
std::ptrdiff_t LineOf(int i, std::string_view log) {
  return log.starts_with("[[\"acme-0\"") ? i : 1 - i;
}

// Flips the highest bit of each byte of the log, so that it is not valid text any more. Fails if:
// the damage is not reported, another bucket changes, or the bucket of the line has tokens.
TEST_F(DamagedRowsTest, U11EveryByteOfTheLogFlippedCostsItsLineAlone) {
  const auto rows = RunSql(killed_, "SELECT seq || '|' || data FROM change");
  ASSERT_THAT(rows, SizeIs(1));
  const std::string seq = rows[0].substr(0, rows[0].find('|'));
  const std::string data = rows[0].substr(rows[0].find('|') + 1);
  for (std::size_t at = 0; at < data.size(); ++at) {
    SCOPED_TRACE(fmt::format("byte {} of {}", at, data));
    Damage(fmt::format("UPDATE change SET data = CAST(x'{}' AS TEXT)",
                       HexOf(Flipped(data, at, 0x80))));
    const auto line = std::count(data.begin(), data.begin() + static_cast<long>(at), '\n');
    const bool separates =
        at == 0 || at + 2 >= data.size() || data[at] == '\n' || data[at + 1] == '\n';
    // If the byte in which the names differ is damaged, the name differs from each of them in one
    // byte.
    const bool differs = at > 1 && data.substr(at - 2, 2) == "e-" && data[at + 1] == '"';
    const Opened opened = Open();
    for (int i = 0; i < 2; ++i) {
      const std::int64_t left = opened.tokens.at(static_cast<std::size_t>(i));
      if (line == LineOf(i, data) && !separates) {
        EXPECT_EQ(left, 0) << i;
      } else {
        EXPECT_TRUE(left == 899 || ((separates || differs) && left == 0)) << i << ": " << left;
      }
    }
    EXPECT_EQ(opened.tokens[2], differs ? 0 : 999);
    if (!separates) {
      EXPECT_THAT(opened.damage, Contains(HasSubstr("change")));
    }
  }
}

// Flips the lowest bit, which often leaves a valid value. Fails if: a bucket of another line
// changes.
TEST_F(DamagedRowsTest, U11EveryLowBitOfTheLogFlippedTouchesItsLineAlone) {
  const std::string data = RunSql(killed_, "SELECT data FROM change").at(0);
  for (std::size_t at = 0; at < data.size(); ++at) {
    SCOPED_TRACE(fmt::format("byte {} of {}", at, data));
    Damage(fmt::format("UPDATE change SET data = CAST(x'{}' AS TEXT)",
                       HexOf(Flipped(data, at, 0x01))));
    const auto line = std::count(data.begin(), data.begin() + static_cast<long>(at), '\n');
    const Opened opened = Open();
    if (data[at] != '\n') {
      EXPECT_EQ(opened.tokens.at(line == LineOf(0, data) ? 1 : 0), 899);
    }
    EXPECT_EQ(opened.tokens.at(2), 999);
  }
}

// Flips every byte of every text in the tables of rows. Fails if: the file is refused, or another
// row changes.
TEST_F(DamagedRowsTest, U11EveryByteOfEveryRowFlippedCostsThatRowAlone) {
  struct Value {
    std::string table, column, where;
  };
  std::vector<Value> values;
  for (const char* column : {"entity", "resource", "limits"}) {
    values.push_back({"bucket", column, "entity = 'acme-2'"});
  }
  for (const char* column : {"id", "name", "metadata"}) values.push_back({"entity", column, "1"});
  for (const char* column : {"kind", "resource", "limits"})
    values.push_back({"level", column, "1"});
  for (const auto& [table, column, where] : values) {
    WriteFile(killed_, original_);
    const std::string value =
        RunSql(killed_, fmt::format("SELECT {} FROM {} WHERE {}", column, table, where)).at(0);
    for (std::size_t at = 0; at < value.size(); ++at) {
      SCOPED_TRACE(fmt::format("{}.{} byte {} of {}", table, column, at, value));
      Damage(fmt::format("UPDATE {} SET {} = CAST(x'{}' AS TEXT) WHERE {}", table, column,
                         HexOf(Flipped(value, at, 0x80)), where));
      const Opened opened = Open();
      EXPECT_THAT(opened.damage, Contains(HasSubstr(table)));
      EXPECT_EQ(opened.tokens.at(0), 899);
      EXPECT_EQ(opened.tokens.at(1), 899);
      if (table != "bucket") {
        EXPECT_EQ(opened.tokens.at(2), 999);
      }
      if (column == "limits" && table == "bucket") {
        EXPECT_EQ(opened.tokens.at(2), 0);
      }
    }
  }
}

// C1: an older weir wrote such columns. Fails if: the file is refused, or more than the column is
// dropped.
TEST_F(DamagedRowsTest, C1ABadColumnOfAnEntityIsDroppedAndReported) {
  Damage(
      "UPDATE entity SET name = CAST(x'41fc' AS TEXT), "
      "metadata = CAST(x'7b2263697479223a224dfc227d' AS TEXT)");
  EmbeddedClient client(killed_);
  ASSERT_TRUE(client.Open());
  EXPECT_THAT(client.backend().damage().first(),
              ElementsAre(HasSubstr("entity acme-0: its name is unreadable"),
                          HasSubstr("entity acme-0: its metadata is unreadable")));
  EXPECT_THAT(Tokens(client), ElementsAre(899, 899, 999));
  EXPECT_TRUE(client.Apply({PutEntity{{.entity = {.id = "acme-0", .name = "Acme"}}}}));
  EXPECT_TRUE(client.Close());
  EXPECT_THAT(Open().damage, IsEmpty());
}

TEST_F(DamagedRowsTest, U11LevelsAndEntitiesThatCannotBeAreLeftOut) {
  Damage(
      "INSERT INTO level VALUES('galaxy', 'acme', '', '{}', NULL, 0);"
      "INSERT INTO level VALUES('resource', '', 'gpt-5', '{\"rpm\":[0,1,1]}', NULL, 0);"
      "INSERT INTO entity VALUES('a#b', 'Acme', NULL, 0, '{}', 0, 0)");
  EXPECT_THAT(Open().damage, ElementsAre(HasSubstr("entity a#b"), HasSubstr("level galaxy acme"),
                                         AllOf(HasSubstr("level"), HasSubstr("resource gpt-5"))));
}

class HeardLog final : public Log {
 public:
  bool IsEnabled(LogLevel) const override { return true; }
  void Write(LogLevel, std::string_view event, std::span<const LogField> fields) override {
    if (event != "file.row_damaged") return;
    heard.push_back(fmt::format("{} {}", event, std::get<std::string_view>(fields[1].value)));
  }
  std::vector<std::string> heard;
};

TEST_F(DamagedRowsTest, U11ADamagedRowIsLogged) {
  Damage("UPDATE bucket SET limits = '{' WHERE entity = 'acme-2'");
  HeardLog log;
  EmbeddedClient client(killed_);
  ASSERT_TRUE(client.Open({.log = &log}));
  EXPECT_THAT(log.heard, ElementsAre("file.row_damaged bucket"));
  EXPECT_TRUE(client.Close());
}

TEST(DamageReport, KeepsTheFirstMessagesAndCountsAll) {
  DamageReport report;
  for (int i = 0; i < 150; ++i) report.Note("bucket", fmt::format("row\n{}", i));
  EXPECT_EQ(report.count(), 150U);
  EXPECT_EQ(report.count("bucket"), 150U);
  EXPECT_EQ(report.count("level"), 0U);
  EXPECT_THAT(report.first(), SizeIs(DamageReport::kKept));
  EXPECT_EQ(report.first().front(), "bucket row\\x0a0");
}

}  // namespace
}  // namespace weir
