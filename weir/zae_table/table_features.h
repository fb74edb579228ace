// Calls on the table as a whole: its description, and the two features that DynamoDB turns on by
// calls of their own, time to live and recovery to a point in time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weir/base/done.h"
#include "weir/dynamodb/table.h"
#include "weir/runtime/deadline.h"
#include "weir/zae_table/table_purpose.h"

namespace weir::dynamo {

/// Reports the table's description; kNotFound if it does not exist.
void DescribeTable(Table& table, Deadline deadline, Done<TableDescription> done);

struct TimeToLive {
  Feature feature = Feature::kOff;
  std::string attribute;  ///< empty if it is off
};

/// A feature that is being turned on counts as on. An engine that does not know the operation does
/// not offer the feature. The table must outlive each call.
void ReadTimeToLive(Table& table, Deadline deadline, Done<TimeToLive> done);
void ReadRecovery(Table& table, Deadline deadline, Done<Feature> done);

/// Turn the feature on. `attribute` contains the time, in seconds since 1970, after which an item
/// expires. TurnOnRecovery reports nothing if the table is too young for it: try again soon.
void TurnOnTimeToLive(Table& table, std::string_view attribute, Deadline deadline,
                      Done<Feature> done);
void TurnOnRecovery(Table& table, Deadline deadline, Done<std::optional<Feature>> done);

}  // namespace weir::dynamo
