// Compares a file of accounts' limits with a store, and loads it.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/weir/limits/limits_plan.h"
#include "weir/store/reservation/account_limits.h"

namespace weir::app {

/// The maximum number of a load's requests in flight.
inline constexpr std::size_t kLoadInFlight = 64;

// One change that loading makes, or a row that it leaves.
struct LoadStep {
  PlannedAction action = PlannedAction::kLeave;
  std::optional<AccountLimitRow> live;  ///< the row in the store
  std::optional<AccountLimitRow> file;  ///< the row in the file
};

/// The rows of a store that concern a file.
struct LiveLimits {
  std::vector<AccountLimitRow> rows;
  std::map<AccountKey, std::string> unreadable;  ///< the error of each unreadable row
};

struct LoadPlan {
  std::vector<LoadStep> steps;  ///< in the order of their keys, without unchanged rows
  std::size_t unchanged = 0;

  std::size_t Count(PlannedAction action) const;
};

/// Reads the rows of the service, and the rows of the keys that the file declares, whatever their
/// owner. The list of a service's rows may be slightly stale, so each row is read by itself:
/// kLoadInFlight at once, each with its own deadline. A row without a limit, or with a key that the
/// store refuses, is unreadable. Blocks.
[[nodiscard]] Result<LiveLimits> ReadAccountLimits(AccountLimitStore& store,
                                                   const std::string& service,
                                                   const std::vector<AccountLimitRow>& declared,
                                                   const NextDeadline& deadline);

/// Plans a load. With `prune`, rows of the service that the file does not declare are deleted;
/// otherwise they are left. Rows without an owner are taken over; unreadable rows are skipped.
/// Returns kFailedPrecondition, with the row and its owner, if the file declares a row of another
/// service.
[[nodiscard]] Result<LoadPlan> MakeLoadPlan(const std::vector<AccountLimitRow>& declared,
                                            const LiveLimits& live, const std::string& service,
                                            bool prune);

/// Makes the changes in the order of the keys, kLoadInFlight at once, each with its own deadline.
/// The error reports how many changes were made and the first one that was not; another load makes
/// the others. Blocks.
[[nodiscard]] Status ApplyLoadPlan(const LoadPlan& plan, AccountLimitStore& store,
                                   const NextDeadline& deadline);

nlohmann::ordered_json ToJson(const LoadPlan& plan);
std::string TextOf(const LoadPlan& plan);

}  // namespace weir::app
