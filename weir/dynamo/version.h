// The table's version record, and who may open the table.
//
// Format: zae-limiter 0.17.0; inventory sections 1.3 (i), 1.7 and, for 0.17, 2.10.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/done.h"
#include "weir/base/time.h"
#include "weir/dynamo/table.h"
#include "weir/runtime/deadline.h"

namespace weir::dynamo {

/// A version as zae-limiter counts them. A pre-release sorts before its release.
struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;
  bool is_release = true;
  std::string pre_release;  ///< what follows the dash

  friend auto operator<=>(const Version&, const Version&) = default;
};

/// Reads `1.2.3`, `v1.2.3`, `1.2.3-rc.1`; `1.2.3.dev5+gabc` is 1.2.3-dev. Nothing for other texts.
std::optional<Version> ParseVersion(std::string_view text);

/// What a table that is created here is written as.
inline constexpr std::string_view kSchemaVersion = "0.10.0";
/// The release of zae-limiter whose data we can share.
inline constexpr std::string_view kCompatibility = "0.17.0";

struct VersionInfo {
  std::string schema;
  std::string client_min;             ///< clients below must not open the table
  std::optional<std::string> lambda;  ///< of the aggregator; nothing: none is deployed
  std::optional<UnixMillis> updated_at;
  std::optional<std::string> updated_by;
};

VersionInfo ReadVersion(const Item& record);
/// That of a new table. `by` may be empty.
Item NewVersionRecord(UnixMillis now, std::string_view by);

/// kFailedPrecondition, naming what would be right, where a client of kCompatibility must leave the
/// table alone: its schema is of another major version, client_min is above, or either is no
/// version.
[[nodiscard]] Status CheckVersion(const VersionInfo& info);

/// kNotFound: there is no such table, and how there will be.
Error NoSuchTable(std::string_view table);

/// Before anything else is done with a table. Reads only. kNotFound where there is no such table;
/// kFailedPrecondition where it has no version record, or as CheckVersion.
void OpenCheck(Table& table, Deadline deadline, Done<VersionInfo> done);

}  // namespace weir::dynamo
