#include "weir/aggregator/archive/audit_archive.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "weir/aggregator/testing/unpack_fixture.h"
#include "weir/zae_table/records/audit.h"

namespace weir::dynamo {
namespace {

constexpr UnixMillis kEventTime{1'769'850'307'000};  // 2026-01-31T09:05:07Z

ChangeRecord ExpiredRecord(const AuditEvent& event) {
  ChangeRecord record{.kind = ChangeKind::kRemove,
                      .sequence_number = "4711",
                      .created = kEventTime + std::chrono::hours(24 * 90),
                      .old_image = AuditItem(Keys("ns-1"), event, 90),
                      .expired = true};
  record.keys = ToItem(KeyOf(record.old_image));
  return record;
}

TEST(AuditArchive, AnEventBecomesALineOfAnObject) {
  AuditEvent event{.id = "01JX", .subject = "acme", .at = kEventTime, .action = "limits_set"};
  event.principal = "arn:aws:iam::1:user/\"me\"";
  const auto object = MakeArchiveObject(ExpiredRecord(event));
  ASSERT_TRUE(object);
  EXPECT_EQ(object->key, "audit/year=2026/month=01/day=31/audit-2026-01-31T09-05-07Z-" +
                             std::string(36, '0') + "4711.jsonl.gz");
  EXPECT_EQ(object->content_type, "application/x-ndjson");
  EXPECT_EQ(object->content_encoding, "gzip");
  const std::string text = Unpack(object->body);
  EXPECT_TRUE(text.ends_with("}\n"));
  const auto line = nlohmann::json::parse(text);
  EXPECT_EQ(line, nlohmann::json({{"event_id", "01JX"},
                                  {"entity_id", "acme"},
                                  {"action", "limits_set"},
                                  {"timestamp", "2026-01-31T09:05:07Z"},
                                  {"principal", "arn:aws:iam::1:user/\"me\""},
                                  {"resource", nullptr},
                                  {"details", nlohmann::json::object()},
                                  {"namespace_id", "ns-1"}}));
}

// Fails if: an event that an older client wrote is lost, or some type of value is.
TEST(AuditArchive, AnyItemIsArchived) {
  ChangeRecord record = ExpiredRecord({.id = "1", .subject = "a", .at = kEventTime, .action = "x"});
  record.old_image.erase("timestamp");
  record.old_image["details"] = {Item{{"flag", Of(true)},
                                      {"list", {List{Of(1), Of("\n")}}},
                                      {"set", {StringSet{{"a", "b"}}}},
                                      {"none", {Null{}}},
                                      {"bytes", {Bytes{"x"}}}}};
  const auto object = MakeArchiveObject(record);
  ASSERT_TRUE(object);
  EXPECT_TRUE(object->key.starts_with("audit/year=2026/month=05/day=01/"));
  const auto line = nlohmann::json::parse(Unpack(object->body));
  EXPECT_EQ(line["timestamp"], nullptr);
  EXPECT_EQ(line["details"], nlohmann::json({{"flag", true},
                                             {"list", {1, "\n"}},
                                             {"set", {"a", "b"}},
                                             {"none", nullptr},
                                             {"bytes", "eA=="}}));
}

// Fails if: a repeated attempt creates a second object, or changes the first.
TEST(AuditArchive, ARepeatedAttemptReplacesTheObjectByAnEqualOne) {
  const ChangeRecord record =
      ExpiredRecord({.id = "1", .subject = "a", .at = kEventTime, .action = "x"});
  const auto first = MakeArchiveObject(record);
  const auto second = MakeArchiveObject(record);
  EXPECT_EQ(first->key, second->key);
  EXPECT_EQ(first->body, second->body);
  ChangeRecord next = record;
  next.sequence_number = "4712";
  EXPECT_NE(MakeArchiveObject(next)->key, first->key);
}

TEST(AuditArchive, LongTextsArePacked) {
  const std::string text(10'000, 'x');
  EXPECT_EQ(Unpack(*Gzip(text)), text);
  EXPECT_LT(Gzip(text)->size(), 200U);
  EXPECT_EQ(Unpack(*Gzip("")), "");
}

}  // namespace
}  // namespace weir::dynamo
