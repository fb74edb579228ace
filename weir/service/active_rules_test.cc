#include "weir/service/active_rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "weir/rules/rules_file.h"

namespace weir::service {
namespace {

// Returns `count` rules in one domain, with the names `prefix`0, `prefix`1 and so on.
std::string RulesText(std::string_view prefix, std::size_t count) {
  std::string text = "domains:\n  edge:\n    rules:\n";
  for (std::size_t i = 0; i < count; ++i) {
    text += fmt::format("      - {{match: k{0}, unlimited: true, name: {1}{0}}}\n", i, prefix);
  }
  return text;
}

// Counts an admitted descriptor of each rule.
void CountAll(const ActiveRules& active) {
  for (const rules::Rule& rule : active.rules().rules()) {
    active.CountsOf(rule).rule->within.Add();
    active.CountsOf(rule).domain->admitted.Add();
  }
}

class RuleCountsByNameTest : public testing::Test {
 protected:
  using Name = RuleCountsByName::Name;
  static constexpr std::size_t kMaxNames = RuleCountsByName::kMaxNames;
  static constexpr std::size_t kMaxDomains = RuleCountsByName::kMaxDomains;

  ActiveRulesPtr Activate(std::string_view text) {
    return counts_.Activate(*rules::ParseRules(text, "rules.yaml"));
  }
  // Returns the counts that a page of metrics shows under this name; nothing if it is not there.
  std::optional<std::uint64_t> Within(const Name& name) const {
    const auto table = counts_.ByRule();
    const auto found = table.find(name);
    if (found == table.end()) return std::nullopt;
    return found->second->within.Value();
  }

  const Name others_{RuleCountsByName::kOthers, RuleCountsByName::kOthers};
  RuleCountsByName counts_;
};

TEST_F(RuleCountsByNameTest, ARuleKeepsItsCountsWhenTheFileChanges) {
  CountAll(*Activate(RulesText("a", 2)));
  CountAll(*Activate(RulesText("a", 1)));
  EXPECT_EQ(Within({"edge", "a0"}), 2U);
  EXPECT_EQ(Within({"edge", "a1"}), 1U) << "there is space for a name that is not in the file";
}

TEST_F(RuleCountsByNameTest, NamesBeyondTheBoundShareTheirCounts) {
  CountAll(*Activate(RulesText("a", kMaxNames + 2)));
  EXPECT_EQ(counts_.ByRule().size(), kMaxNames + 1);
  EXPECT_EQ(Within(others_), 2U);
}

// Fails if: names that are no longer in the file keep the names of the file from their own counts.
// The previous rules are in use as long as requests are in flight.
TEST_F(RuleCountsByNameTest, NewNamesTakeTheSpaceOfNamesThatAreGone) {
  const auto previous = Activate(RulesText("a", kMaxNames + 1));
  const auto active = Activate(RulesText("b", kMaxNames));
  CountAll(*previous);
  CountAll(*active);
  for (std::size_t i = 0; i < kMaxNames; ++i) {
    ASSERT_EQ(Within({"edge", fmt::format("b{}", i)}), 1U);
  }
  EXPECT_EQ(Within({"edge", "a0"}), std::nullopt);
  EXPECT_EQ(Within(others_), 1U) << "the counts of others go on";
}

TEST_F(RuleCountsByNameTest, NamesThatStayKeepTheirCountsWhenOthersMakeSpace) {
  CountAll(*Activate(RulesText("a", kMaxNames)));
  CountAll(*Activate(RulesText("a", 1) + "  new:\n    rules: [{match: x, unlimited: true}]\n"));
  EXPECT_EQ(Within({"edge", "a0"}), 2U);
  EXPECT_EQ(Within({"new", "new/x=*"}), 1U);
  EXPECT_EQ(counts_.ByRule().size(), 2U);
}

TEST_F(RuleCountsByNameTest, NewDomainsTakeTheSpaceOfDomainsThatAreGone) {
  for (const std::string_view prefix : {"a", "b"}) {
    std::string text = "domains:\n";
    for (std::size_t i = 0; i < kMaxDomains; ++i) {
      text += fmt::format("  {}{}: {{rules: [{{match: x, unlimited: true}}]}}\n", prefix, i);
    }
    CountAll(*Activate(text));
  }
  const auto domains = counts_.ByDomain();
  EXPECT_EQ(domains.size(), kMaxDomains);
  ASSERT_TRUE(domains.contains("b99"));
  EXPECT_EQ(domains.at("b99")->admitted.Value(), 1U);
}

}  // namespace
}  // namespace weir::service
