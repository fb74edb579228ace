// The features that a table should have in addition to its layout.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/dynamodb/table_layout.h"

namespace weir::dynamo {

/// The attribute after which items of Weir's table expire.
inline constexpr std::string_view kTimeToLiveAttribute = "ttl";

/// The state of a feature, which an engine may not offer at all.
enum class Feature { kOn, kOff, kNotOffered };
std::string_view Name(Feature feature);  ///< "on", "off", "not offered"

/// The features of a table in addition to its layout. The default is Weir's own table.
struct TablePurpose {
  /// The attribute after which items expire (seconds since 1970); empty: time to live is left to
  /// the owner.
  std::string time_to_live{kTimeToLiveAttribute};
  bool recovery = true;
  bool version = true;  ///< a version record; requires ZaeLayout's keys
  /// Billing, stream and further indexes must be as in the layout. False: they are left to the
  /// owner.
  bool exact = true;
};

/// Returns the Differences of a layout, without those that are left to the owner.
std::vector<std::string> RelevantDifferences(const TableLayout& found, const TableLayout& wanted,
                                             const TablePurpose& purpose);

}  // namespace weir::dynamo
