#include "apps/weir/limits/account_limits_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "apps/weir/limits/plan_summary.h"
#include "apps/weir/terminal/json.h"
#include "weir/model/quoted.h"
#include "weir/runtime/await.h"

namespace weir::app {
namespace {

using Rows = std::map<AccountKey, AccountLimitRow>;

Rows ByKey(const std::vector<AccountLimitRow>& rows) {
  Rows by_key;
  for (const AccountLimitRow& row : rows) by_key.emplace(row.key, row);
  return by_key;
}

const AccountKey& KeyOf(const LoadStep& step) {
  return step.file ? step.file->key : step.live->key;
}

Status CheckOwner(const AccountLimitRow& live, const std::string& service) {
  if (live.service.empty() || live.service == service) return {};
  return Fail(Code::kFailedPrecondition,
              fmt::format("{} belongs to service {}: remove it from the file, or load it with that "
                          "--service",
                          Describe(live.key), Quoted(live.service)));
}

std::string TextOf(const std::optional<AccountLimitRow>& row) {
  if (!row) return "-";
  if (row->limit.window.count() == 0) return std::to_string(row->limit.limit);
  return fmt::format("{} per {} s", row->limit.limit, row->limit.window.count());
}

Json ToJson(const std::optional<AccountLimitRow>& row) {
  if (!row) return {};
  return {{"limit", row->limit.limit}, {"window_sec", row->limit.window.count()}};
}

AccountLimitChange ChangeOf(const LoadStep& step) {
  if (!step.file) return DeleteAccountLimit{*step.live};
  return PutAccountLimit{.row = *step.file, .seen = step.live};
}

// Returns each key once, in order.
std::vector<AccountKey> AllKeys(const std::vector<AccountKey>& listed,
                                const std::vector<AccountLimitRow>& declared) {
  std::set<AccountKey> keys(listed.begin(), listed.end());
  for (const AccountLimitRow& row : declared) keys.insert(row.key);
  return {keys.begin(), keys.end()};
}

// Returns the damage of the row, or nothing if the error is not one of the row.
std::optional<std::string> DamageOf(const AccountKey& key, const Error& error) {
  if (error.code == Code::kFailedPrecondition) return error.message;
  // Another client wrote a key that stores refuse. The error names only the invalid part of the
  // key.
  if (error.code != Code::kInvalidArgument) return std::nullopt;
  return fmt::format("limit of {}: {}", Quoted(Describe(key)), error.message);
}

Status AddTo(LiveLimits& live, const AccountKey& key,
             const Result<std::optional<AccountLimitRow>>& found) {
  if (found && *found) live.rows.push_back(**found);
  if (found) return {};
  std::optional<std::string> damage = DamageOf(key, found.error());
  if (!damage) return Fail(found.error());
  live.unreadable.emplace(key, *std::move(damage));
  return {};
}

std::vector<LoadStep> StepsToMake(const LoadPlan& plan) {
  std::vector<LoadStep> steps;
  std::ranges::copy_if(plan.steps, std::back_inserter(steps),
                       [](const LoadStep& step) { return step.action != PlannedAction::kLeave; });
  return steps;
}

// Removes listed rows that have been changed to another service meanwhile.
void DropForeign(LiveLimits& live, const std::string& service,
                 const std::vector<AccountLimitRow>& declared) {
  const Rows ours = ByKey(declared);
  std::erase_if(live.rows, [&](const AccountLimitRow& row) {
    return row.service != service && !ours.contains(row.key);
  });
}

}  // namespace

std::size_t LoadPlan::Count(PlannedAction action) const {
  return static_cast<std::size_t>(std::ranges::count(steps, action, &LoadStep::action));
}

Result<LiveLimits> ReadAccountLimits(AccountLimitStore& store, const std::string& service,
                                     const std::vector<AccountLimitRow>& declared,
                                     const NextDeadline& deadline) {
  using Keys = std::vector<AccountKey>;
  using MaybeRow = std::optional<AccountLimitRow>;
  WEIR_ASSIGN_OR_RETURN(const Keys listed, Await<Keys>([&](auto done) {
                          store.KeysOfService(service, deadline(), std::move(done));
                        }));
  const Keys keys = AllKeys(listed, declared);
  LiveLimits live;
  for (std::size_t i = 0; i < keys.size(); i += kLoadInFlight) {
    const auto get = [&](std::size_t n, Done<MaybeRow> done) {
      store.Get(keys[i + n], deadline(), std::move(done));
    };
    const auto found = AwaitAll<MaybeRow>(std::min(kLoadInFlight, keys.size() - i), get);
    for (std::size_t n = 0; n < found.size(); ++n) {
      WEIR_RETURN_IF_ERROR(AddTo(live, keys[i + n], found[n]));
    }
  }
  DropForeign(live, service, declared);
  return live;
}

Result<LoadPlan> MakeLoadPlan(const std::vector<AccountLimitRow>& declared, const LiveLimits& live,
                              const std::string& service, bool prune) {
  using enum PlannedAction;
  LoadPlan plan;
  Rows left = ByKey(live.rows);
  for (const AccountLimitRow& row : declared) {
    if (live.unreadable.contains(row.key)) continue;
    const auto at = left.find(row.key);
    if (at == left.end()) {
      plan.steps.push_back({.action = kCreate, .live = {}, .file = row});
      continue;
    }
    WEIR_RETURN_IF_ERROR(CheckOwner(at->second, service));
    if (at->second == row) {
      ++plan.unchanged;
    } else {
      plan.steps.push_back({.action = kUpdate, .live = at->second, .file = row});
    }
    left.erase(at);
  }
  for (auto& [key, row] : left) {
    plan.steps.push_back({.action = prune ? kDelete : kLeave, .live = row, .file = {}});
  }
  std::ranges::sort(plan.steps, {}, KeyOf);
  return plan;
}

Status ApplyLoadPlan(const LoadPlan& plan, AccountLimitStore& store, const NextDeadline& deadline) {
  const std::vector<LoadStep> steps = StepsToMake(plan);
  for (std::size_t i = 0; i < steps.size(); i += kLoadInFlight) {
    const auto change = [&](std::size_t n, Done<void> done) {
      store.Change(ChangeOf(steps[i + n]), deadline(), std::move(done));
    };
    const auto made = AwaitAll<void>(std::min(kLoadInFlight, steps.size() - i), change);
    // The changes of one group are made in parallel, so changes after the failed one may have been
    // made.
    const auto failed = std::ranges::find(made, false, &Status::has_value);
    if (failed == made.end()) continue;
    const auto count =
        i + static_cast<std::size_t>(std::ranges::count(made, true, &Status::has_value));
    const LoadStep& step = steps[i + static_cast<std::size_t>(failed - made.begin())];
    return Fail(failed->error().code,
                fmt::format("{} of {} changes were made; {}: {}; load again to make the others",
                            count, steps.size(), Describe(KeyOf(step)), failed->error().message));
  }
  return {};
}

Json ToJson(const LoadPlan& plan) {
  Json json = SummaryOf(plan);
  for (const LoadStep& step : plan.steps) {
    json["changes"].push_back({{"action", WordsOf(step.action).verb},
                               {"resource", KeyOf(step).resource},
                               {"account", KeyOf(step).account},
                               {"live", ToJson(step.live)},
                               {"file", ToJson(step.file)}});
  }
  return json;
}

std::string TextOf(const LoadPlan& plan) {
  std::string text;
  for (const LoadStep& step : plan.steps) {
    const ActionWords words = WordsOf(step.action);
    const std::string change = step.live && step.file
                                   ? fmt::format("{} -> {}", TextOf(step.live), TextOf(step.file))
                                   : TextOf(step.file ? step.file : step.live);
    text += fmt::format("{} {} {}: {}\n", words.sign, words.verb, Describe(KeyOf(step)), change);
  }
  return text + SummaryLineOf(plan);
}

}  // namespace weir::app
