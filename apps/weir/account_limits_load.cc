#include "apps/weir/account_limits_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "apps/weir/json.h"
#include "apps/weir/plan_words.h"
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
              fmt::format("{} belongs to service {}: take it out of the file, or load it as that "
                          "service",
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

}  // namespace

std::size_t LoadPlan::Count(PlannedAction action) const {
  return static_cast<std::size_t>(std::ranges::count(steps, action, &LoadStep::action));
}

Result<std::vector<AccountLimitRow>> ReadAccountLimits(AccountLimitStore& store,
                                                       const std::string& service,
                                                       const std::vector<AccountLimitRow>& declared,
                                                       const NextDeadline& deadline) {
  using Found = std::vector<AccountLimitRow>;
  WEIR_ASSIGN_OR_RETURN(Found rows, Await<Found>([&](auto done) {
                          store.OfService(service, deadline(), std::move(done));
                        }));
  Rows known = ByKey(rows);
  for (const AccountLimitRow& row : declared) {
    if (known.contains(row.key)) continue;
    WEIR_ASSIGN_OR_RETURN(auto found, Await<std::optional<AccountLimitRow>>([&](auto done) {
                            store.Get(row.key, deadline(), std::move(done));
                          }));
    if (found) rows.push_back(*std::move(found));
  }
  return rows;
}

Result<LoadPlan> MakeLoadPlan(const std::vector<AccountLimitRow>& declared,
                              const std::vector<AccountLimitRow>& live, const std::string& service,
                              bool prune) {
  using enum PlannedAction;
  LoadPlan plan;
  Rows left = ByKey(live);
  for (const AccountLimitRow& row : declared) {
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
  std::size_t made = 0;
  for (const LoadStep& step : plan.steps) {
    if (step.action == PlannedAction::kLeave) continue;
    const Status changed =
        Await<void>([&](auto done) { store.Change(ChangeOf(step), deadline(), std::move(done)); });
    if (!changed) {
      return Fail(changed.error().code,
                  fmt::format("{} changes are made, then {}: {}; load again to go on", made,
                              Describe(KeyOf(step)), changed.error().message));
    }
    ++made;
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
