// The rule and bucket of a descriptor, in sets of many rules.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "weir/rules/rule_set.h"
#include "weir/rules/rules_file.h"

namespace weir::rules {
namespace {

/// Returns a domain with `number` exact paths, each with any user, and a rule for each other path.
RuleSet RulesOfPaths(std::int64_t number) {
  std::string text = "domains:\n  edge:\n    rules:\n";
  text += "      - {match: [{path: \"/*\"}, user], limits: {requests: 100}}\n";
  for (std::int64_t i = 0; i < number; ++i) {
    text +=
        fmt::format("      - {{match: [{{path: /api/{}}}, user], limits: {{requests: 100}}}}\n", i);
  }
  return std::move(*ParseRules(text, "bench.yaml"));
}

void FindRule(benchmark::State& state, std::string_view path, std::string_view user) {
  const RuleSet set = RulesOfPaths(state.range(0));
  const std::vector<DescriptorEntry> entries = {{"path", path}, {"user", user}};
  for (auto _ : state) benchmark::DoNotOptimize(set.Find("edge", entries));
  state.SetItemsProcessed(state.iterations());
}

void BM_FindRuleOfExactValue(benchmark::State& state) { FindRule(state, "/api/7", "user-1234"); }
BENCHMARK(BM_FindRuleOfExactValue)->Arg(100)->Arg(10'000);

void BM_FindRuleOfWildcard(benchmark::State& state) { FindRule(state, "/other/7", "user-1234"); }
BENCHMARK(BM_FindRuleOfWildcard)->Arg(100)->Arg(10'000);

void BM_FindRuleOfLongValue(benchmark::State& state) {
  FindRule(state, "/api/7", std::string(1000, 'u'));
}
BENCHMARK(BM_FindRuleOfLongValue)->Arg(100);

}  // namespace
}  // namespace weir::rules
