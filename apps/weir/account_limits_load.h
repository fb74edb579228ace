// A file of accounts' limits held against a store: what loading it would do, and doing it.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/weir/limits_plan.h"
#include "weir/store/account_limits.h"

namespace weir::app {

/// Requests of a load that the store has at a time.
inline constexpr std::size_t kLoadInFlight = 64;

struct LoadStep {
  PlannedAction action = PlannedAction::kLeave;
  std::optional<AccountLimitRow> live;  ///< what stands there
  std::optional<AccountLimitRow> file;  ///< what the file declares
};

/// What a store has that matters to a file.
struct LiveLimits {
  std::vector<AccountLimitRow> rows;
  std::map<AccountKey, std::string> unreadable;  ///< what is wrong with the row
};

struct LoadPlan {
  std::vector<LoadStep> steps;  ///< in order of their keys; what stays as it is, is none of them
  std::size_t unchanged = 0;

  std::size_t Count(PlannedAction action) const;
};

/// The service's own rows, and those of the keys that the file declares, whoever put them there.
/// Each is read by itself, kLoadInFlight at once, each within a deadline of its own: the list of a
/// service's rows may be that of a moment ago. A row that says no limit, and one whose key the
/// store refuses, is unreadable. Blocks.
[[nodiscard]] Result<LiveLimits> ReadAccountLimits(AccountLimitStore& store,
                                                   const std::string& service,
                                                   const std::vector<AccountLimitRow>& declared,
                                                   const NextDeadline& deadline);

/// `prune`: rows of the service that the file does not declare are deleted; else they are left.
/// kFailedPrecondition, naming row and owner, if the file declares a row that belongs to another
/// service. Rows without an owner are taken over; those that cannot be read are no part of it.
[[nodiscard]] Result<LoadPlan> MakeLoadPlan(const std::vector<AccountLimitRow>& declared,
                                            const LiveLimits& live, const std::string& service,
                                            bool prune);

/// In order of the keys, kLoadInFlight at once, each within a deadline of its own. The error says
/// how many were done, and which was the first that was not; loading again goes on from there.
/// Blocks.
[[nodiscard]] Status ApplyLoadPlan(const LoadPlan& plan, AccountLimitStore& store,
                                   const NextDeadline& deadline);

nlohmann::ordered_json ToJson(const LoadPlan& plan);
std::string TextOf(const LoadPlan& plan);

}  // namespace weir::app
