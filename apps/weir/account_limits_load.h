// A file of accounts' limits held against a store: what loading it would do, and doing it.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/weir/limits_plan.h"
#include "weir/store/account_limits.h"

namespace weir::app {

struct LoadStep {
  PlannedAction action = PlannedAction::kLeave;
  std::optional<AccountLimitRow> live;  ///< what stands there
  std::optional<AccountLimitRow> file;  ///< what the file declares
};

struct LoadPlan {
  std::vector<LoadStep> steps;  ///< in order of their keys; what stays as it is, is none of them
  std::size_t unchanged = 0;

  std::size_t Count(PlannedAction action) const;
};

/// What the store has that matters to a file: the service's own rows, and those that stand where
/// the file declares one, whoever put them there.
[[nodiscard]] Result<std::vector<AccountLimitRow>> ReadAccountLimits(
    AccountLimitStore& store, const std::string& service,
    const std::vector<AccountLimitRow>& declared, const NextDeadline& deadline);

/// `prune`: rows of the service that the file does not declare are deleted; else they are left.
/// kFailedPrecondition, naming row and owner, where the file declares a row that belongs to another
/// service. Rows without an owner are taken over.
[[nodiscard]] Result<LoadPlan> MakeLoadPlan(const std::vector<AccountLimitRow>& declared,
                                            const std::vector<AccountLimitRow>& live,
                                            const std::string& service, bool prune);

/// One row after the other, each within a deadline of its own. The error says how many were done;
/// loading again goes on from there. Blocks.
[[nodiscard]] Status ApplyLoadPlan(const LoadPlan& plan, AccountLimitStore& store,
                                   const NextDeadline& deadline);

nlohmann::ordered_json ToJson(const LoadPlan& plan);
std::string TextOf(const LoadPlan& plan);

}  // namespace weir::app
