#include "weir/model/limits_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "weir/model/limits_file_text.h"
#include "weir/model/testing/generators.h"

namespace weir {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

LimitsFile Read(std::string_view text) {
  auto file = ParseLimitsFile(text, "f.yaml");
  EXPECT_TRUE(file) << file.error().message;
  return file.value_or(LimitsFile());
}

TEST(LimitsFile, ReadsEveryLevel) {
  const LimitsFile file = Read(R"(
namespace: production
system:
  on_unavailable: allow
  limits:
    rpm: {capacity: 60}
resources:
  llm:
    limits:
      tpm: {capacity: 15000, refill_amount: 10000, refill_period: 30}
      rpm: 1000/min:1500
entities:
  tenant-1:
    parent: organisation
    cascade: true
    resources:
      llm: {limits: {rpm: 2.5/250ms}}
      _default_: {limits: {rpm: 7}}
  tenant-2: {}
)");
  EXPECT_EQ(file.namespace_name, "production");
  EXPECT_EQ(file.on_unavailable, OnUnavailable::kAllow);
  EXPECT_EQ(file.system, (std::vector<Limit>{{"rpm", PerMinute(60)}}));
  EXPECT_EQ(file.resources.at("llm"),
            (std::vector<Limit>{{"tpm", PerPeriod(10'000, std::chrono::seconds(30)).Burst(15'000)},
                                {"rpm", PerMinute(1000).Burst(1500)}}));
  ASSERT_EQ(file.entities.size(), 2U);
  const EntityDeclaration& tenant = file.entities.at("tenant-1");
  EXPECT_EQ(tenant.parent, "organisation");
  EXPECT_TRUE(tenant.cascade);
  EXPECT_EQ(tenant.resources.at("llm"), (std::vector<Limit>{{"rpm", {2500, 2500, 250}}}));
  EXPECT_EQ(tenant.resources.at("_default_"), (std::vector<Limit>{{"rpm", PerMinute(7)}}));
  EXPECT_EQ(file.entities.at("tenant-2"), EntityDeclaration());
}

TEST(LimitsFile, OnlyTheNamespaceIsRequired) {
  LimitsFile expected;
  expected.namespace_name = "n";
  EXPECT_EQ(Read("namespace: n"), expected);
  EXPECT_EQ(Read("namespace: n\nresources: {}\nentities: {}\n"), expected);
  EXPECT_EQ(Read("\xef\xbb\xbf%YAML 1.2\r\n---\r\nnamespace: \"n\"\r\n...\r\n"), expected);
  expected.on_unavailable = OnUnavailable::kBlock;
  EXPECT_EQ(Read("{\"namespace\": \"n\", \"system\": {\"on_unavailable\": \"block\"}}"), expected);
}

Quota QuotaOf(std::string_view declaration) {
  const auto file = Read(fmt::format("namespace: n\nsystem: {{limits: {{x: {}}}}}", declaration));
  return file.system.empty() ? Quota() : file.system[0].quota;
}

TEST(LimitsFile, FillsInWhatALimitLeavesOut) {
  EXPECT_EQ(QuotaOf("{capacity: 5}"), PerMinute(5));
  EXPECT_EQ(QuotaOf("{capacity: 0.5, refill_period: 0.001}"), (Quota{500, 500, 1}));
  EXPECT_EQ(QuotaOf("{capacity: 5, refill_amount: 2}"), PerMinute(2).Burst(5));
  // As in zae-limiter: burst replaces the capacity; the amount is still the `capacity` of the file.
  EXPECT_EQ(QuotaOf("{capacity: 5, burst: 9}"), PerMinute(5).Burst(9));
  EXPECT_EQ(QuotaOf("{burst: 9, refill_amount: 2, capacity: 5}"), PerMinute(2).Burst(9));
  EXPECT_EQ(QuotaOf("'5/sec'"), PerSecond(5));
}

TEST(LimitsFile, AnAllowanceIsAKeyOrTheEndOfTheText) {
  const auto file = ParseLimitsFile(
      "namespace: n\nsystem: {limits: {x: {capacity: 5, allowance: 500ms}, y: 5/sec~2sec}}\n", "f");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->system[0], (Limit{"x", PerMinute(5), milliseconds(500)}));
  EXPECT_EQ(file->system[1], (Limit{"y", PerSecond(5), milliseconds(2000)}));
}

TEST(LimitsFile, AnAliasStandsForWhatItNames) {
  const LimitsFile file = Read(R"(
namespace: n
entities:
  a: &small {resources: {llm: &llm {limits: &limits {rpm: 5}}}}
  b: *small
  c: {resources: {llm: *llm, other: {limits: *limits}}}
)");
  EXPECT_EQ(file.entities.at("b"), file.entities.at("a"));
  EXPECT_EQ(file.entities.at("c").resources.at("other"),
            (std::vector<Limit>{{"rpm", PerMinute(5)}}));
}

TEST(FormatLimitsFile, IsYamlThatPeopleRead) {
  LimitsFile file;
  file.namespace_name = "007";
  file.on_unavailable = OnUnavailable::kBlock;
  file.system = {{"rpm", PerMinute(60)}};
  file.resources["llm"] = {{"tpm", PerMinute(1000).Burst(1500)}, {"rpm", {500, 500, 1}}};
  file.entities["b"] = {};
  file.entities["a:1"] = {.parent = "null", .cascade = true, .resources = {}};
  file.entities["a"] = {.parent = std::nullopt,
                        .cascade = false,
                        .resources = {{"_default_", {{"on", PerMinute(1)}}}}};
  EXPECT_EQ(FormatLimitsFile(file), R"(namespace: "007"
system:
  on_unavailable: block
  limits:
    rpm: {capacity: 60, refill_amount: 60, refill_period: 60}
resources:
  llm:
    limits:
      tpm: {capacity: 1500, refill_amount: 1000, refill_period: 60}
      rpm: {capacity: 0.5, refill_amount: 0.5, refill_period: 0.001}
entities:
  a:
    resources:
      _default_:
        limits:
          "on": {capacity: 1, refill_amount: 1, refill_period: 60}
  "a:1":
    parent: "null"
    cascade: true
  b: {}
)");
}

// Fails if: names are never quoted ("null" reads back as null), `cascade` is omitted, or an entity
// without a parent and limits is skipped.
RC_GTEST_PROP(LimitsFileProperty, ReadsBackAsItWas, ()) {
  const LimitsFile file = *AnyLimitsFile();
  const std::string text = FormatLimitsFile(file);
  const auto again = ParseLimitsFile(text, "f.yaml");
  RC_LOG(text);
  if (!again) RC_FAIL(again.error().message);
  RC_ASSERT(*again == file);
  RC_ASSERT(FormatLimitsFile(*again) == text);
}

// Fails if: an exception of yaml-cpp is not caught, or its message gets no advice.
RC_GTEST_PROP(LimitsFileProperty, ADamagedFileIsReadOrRefusedInOneLine, ()) {
  std::string text = FormatLimitsFile(*AnyLimitsFile());
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  const auto size = *rc::gen::inRange<std::size_t>(0, 20);
  text.replace(at, std::min(size, text.size() - at),
               *rc::gen::element<std::string>("", ":", "\n", "- ", "{", "]", "&a", "*a", "'", "\t",
                                              "? ", "!x ", "|", "0", "-", "~", "---\n"));
  const auto file = ParseLimitsFile(text, "f.yaml");
  if (file) return;
  RC_ASSERT(file.error().message.starts_with("f.yaml:"));
  RC_ASSERT(file.error().message.find("; expected ") != std::string::npos);
  RC_ASSERT(file.error().message.find('\n') == std::string::npos);
}

TEST(LimitsFile, TheExampleIsRight) {
  std::ifstream in(WEIR_SOURCE_DIR "/examples/limits.yaml");
  std::stringstream text;
  text << in.rdbuf();
  const auto file = ParseLimitsFile(text.str(), "examples/limits.yaml");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_FALSE(file->system.empty());
  EXPECT_TRUE(file->resources.contains("llm"));
  EXPECT_TRUE(file->entities.contains("tenant-1"));
}

TEST(LimitsFile, ThePageShowsTheExampleAsItIs) {
  std::ifstream example(WEIR_SOURCE_DIR "/examples/limits.yaml");
  std::ifstream page(WEIR_SOURCE_DIR "/docs/limits-file.md");
  std::stringstream yaml;
  std::stringstream markdown;
  yaml << example.rdbuf();
  markdown << page.rdbuf();
  EXPECT_THAT(yaml.str(), EndsWith("\n"));
  EXPECT_THAT(markdown.str(), HasSubstr("```yaml\n" + yaml.str() + "```\n"));
}

TEST(LimitsFile, ALimitOf0Blocks) {
  const auto file = ParseLimitsFile(
      "namespace: n\nsystem: {limits: {rpm: 0, tpm: {capacity: 0}, x: {capacity: 0, "
      "refill_amount: 0, refill_period: 1}}}\n",
      "limits.yaml");
  ASSERT_TRUE(file) << file.error().message;
  for (const Limit& limit : file->system) EXPECT_TRUE(Blocks(limit)) << limit.name;
}

}  // namespace
}  // namespace weir
