#include "weir/archive/archive_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::HasSubstr;

constexpr char kId[] = "01KDVAHT00TSV4RRFFQ69G5FAV";

std::string Line(const std::string& changed, const std::string& replacement) {
  std::string line =
      R"({"event_id":"01KDVAHT00TSV4RRFFQ69G5FAV","entity_id":"acme","action":"limits_set",)"
      R"("timestamp":"2026-01-31T09:05:07Z","principal":null,"resource":"api","details":{}})";
  if (!changed.empty()) line.replace(line.find(changed), changed.size(), replacement);
  return line;
}

TEST(ArchiveLine, ReadsALineOfZaeLimiter) {
  const auto read = ReadArchivedEvent(
      R"({"event_id": "01KDVAHT00TSV4RRFFQ69G5FAV", "entity_id": "acme", "action": "limits_set", )"
      R"("timestamp": "2026-01-31T09:05:07Z", "principal": "arn:aws:iam::1:user/\"me\"", )"
      R"("resource": "api", "details": {"limits": [{"name": "rpm", "capacity": 100, "rate": 1.5, )"
      R"("big": 12345678901234567890, "on": true, "none": null}], "text": "\n"}})");
  ASSERT_TRUE(read) << read.error().message;
  const AuditDetail::Parts limit{{"name", {std::string("rpm")}},
                                 {"capacity", {std::int64_t{100}}},
                                 {"rate", {std::string("1.5")}},
                                 {"big", {std::string("12345678901234567890")}},
                                 {"on", {true}},
                                 {"none", {}}};
  const AuditEvent expected{
      .id = kId,
      .subject = "acme",
      .at = {1'769'850'307'000},
      .action = "limits_set",
      .principal = "arn:aws:iam::1:user/\"me\"",
      .resource = "api",
      .details = {{"limits", {AuditDetail::List{{limit}}}}, {"text", {std::string("\n")}}}};
  EXPECT_EQ(read->event, expected);
  EXPECT_EQ(read->namespace_id, "");
}

TEST(ArchiveLine, ReadsTheNamespaceThatWeirAdds) {
  const auto read =
      ReadArchivedEvent(Line(R"("details":{})", R"("details":null,"namespace_id":"ns-1","x":[1])"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->namespace_id, "ns-1");
  EXPECT_EQ(read->event.principal, std::nullopt);
  EXPECT_TRUE(read->event.details.empty());
}

TEST(ArchiveLine, ADamagedLineIsRefused) {
  ASSERT_TRUE(ReadArchivedEvent(Line("", "")));
  for (const char* line : {"", "[]", "{}", "null", "{\"event_id\":", "\xff"}) {
    EXPECT_FALSE(ReadArchivedEvent(line)) << line;
  }
  const std::pair<std::string, std::string> changes[] = {
      {kId, "1"},
      {"acme", ""},
      {"limits_set", ""},
      {"2026-01-31T", "yesterday"},
      {R"("api")", "1"},
      {R"("details":{})", R"("details":{"x":tru})"},
      {R"("details":{})", R"("details":{"x":nil})"},
      {R"("details":{})", R"("details":{"x":-})"},
      {R"("details":{})", R"("details":[])"},
      {R"("details":{}})", R"("details":{}}{})"}};
  for (const auto& [changed, replacement] : changes) {
    const auto refused = ReadArchivedEvent(Line(changed, replacement));
    ASSERT_FALSE(refused) << replacement;
    EXPECT_EQ(refused.error().code, Code::kDataLoss);
  }
}

// Fails if: the stack is filled by the nesting of a line.
TEST(ArchiveLine, ADeeplyNestedLineIsRefused) {
  std::string nested = "0";
  for (int i = 0; i < 500; ++i) nested = "[" + nested + "]";
  const auto refused =
      ReadArchivedEvent(Line(R"("details":{})", R"("details":{"x":)" + nested + "}"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace weir
