// Calls on the table as a whole: what it is made of, and the two things that DynamoDB turns on
// apart from creating it, time to live and recovery to a point in time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weir/base/done.h"
#include "weir/dynamo/table.h"
#include "weir/dynamo/table_admin.h"
#include "weir/runtime/deadline.h"

namespace weir::dynamo {

void DescribeTable(Table& table, Deadline deadline, Done<TableDescription> done);

struct TimeToLive {
  Feature feature = Feature::kOff;
  std::string attribute;  ///< empty where it is off
};

/// What is being turned on counts as on. An engine that does not know the operation does not offer
/// the feature. The table must outlive each call.
void ReadTimeToLive(Table& table, Deadline deadline, Done<TimeToLive> done);
void ReadRecovery(Table& table, Deadline deadline, Done<Feature> done);

/// Turn it on; `attribute`: of seconds since 1970, after which an item has had its time. Nothing
/// from TurnOnRecovery: the table is too young for it, ask again soon.
void TurnOnTimeToLive(Table& table, std::string_view attribute, Deadline deadline,
                      Done<Feature> done);
void TurnOnRecovery(Table& table, Deadline deadline, Done<std::optional<Feature>> done);

}  // namespace weir::dynamo
