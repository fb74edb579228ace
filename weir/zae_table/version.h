// The table's version record, and which clients may open the table.
//
// Format and rules: zae-limiter 0.17.0 (version.py; set_version_record in repository.py).
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/done.h"
#include "weir/base/time.h"
#include "weir/dynamodb/table.h"
#include "weir/runtime/deadline.h"

namespace weir::dynamo {

/// A version by the rules of zae-limiter. A pre-release sorts before its release.
struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;
  bool is_release = true;
  std::string pre_release;  ///< the text after the dash

  friend auto operator<=>(const Version&, const Version&) = default;
};

/// Reads `1.2.3`, `v1.2.3`, `1.2.3-rc.1`; `1.2.3.dev5+gabc` is 1.2.3-dev. Returns nothing for any
/// other text.
std::optional<Version> ParseVersion(std::string_view text);

/// The schema version of a table that is created here.
inline constexpr std::string_view kSchemaVersion = "0.10.0";
/// The release of zae-limiter with which Weir shares data.
inline constexpr std::string_view kCompatibility = "0.17.0";

struct VersionInfo {
  std::string schema;
  std::string client_min;             ///< clients of lower versions must not open the table
  std::optional<std::string> lambda;  ///< the version of the aggregator; nothing: none is deployed
  std::optional<UnixMillis> updated_at;
  std::optional<std::string> updated_by;
};

/// Attributes that are missing are empty, except client_min, which is "0.0.0".
VersionInfo ReadVersion(const Item& record);
/// Returns the record of a new table. `by` may be empty.
Item NewVersionRecord(UnixMillis now, std::string_view by);

/// Returns kFailedPrecondition, with what would be right, if a client of kCompatibility must not
/// use the table: its schema has another major version, client_min is higher, or either is no
/// version.
[[nodiscard]] Status CheckVersion(const VersionInfo& info);

/// The release of zae-limiter since which clients know that an entity can change its parent.
inline constexpr std::string_view kParentMoves = "0.17.0";

/// Returns the write that raises client_min to `release`, on the condition that client_min is as in
/// `record`; nothing if client_min is not lower. To be used before something is stored that earlier
/// clients do not understand. `release` must not be above kCompatibility.
std::optional<Write> RaiseClientMin(const Item& record, std::string_view release);

/// Returns kFailedPrecondition if the record names an aggregator that is older than `release`: such
/// an aggregator does not understand the feature that is to be stored. As in zae-limiter, a
/// pre-release or a build of `release` is not older. If the record names no aggregator, none is
/// deployed.
[[nodiscard]] Status CheckAggregator(const VersionInfo& info, std::string_view release);

/// Returns a kNotFound error that says how to create the table.
Error NoSuchTable(std::string_view table);

/// Returns the message for a table without a version record, which says how to complete it.
std::string NoVersionRecord(std::string_view table);

/// Checks whether the table may be used; to be called before anything else. Only reads. Reports
/// kNotFound if the table does not exist; kFailedPrecondition if it has no version record, or as
/// CheckVersion.
void OpenCheck(Table& table, Deadline deadline, Done<VersionInfo> done);

}  // namespace weir::dynamo
