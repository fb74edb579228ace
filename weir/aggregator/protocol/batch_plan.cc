#include "weir/aggregator/protocol/batch_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/aggregator/archive/audit_archive.h"

namespace weir::dynamo {
namespace {

Status AddRecord(BatchPlan& plan, const ChangeRecord& record) {
  WEIR_ASSIGN_OR_RETURN(auto change, ReadChange(record, plan.records));
  if (change) plan.changes.push_back(*std::move(change));
  if (IsExpiredEvent(record)) plan.expired.push_back(plan.records);
  return {};
}

}  // namespace

BatchPlan PlanBatch(std::span<const ChangeRecord> records, std::span<const UsageWindow> windows) {
  BatchPlan plan;
  plan.changes.reserve(std::min(records.size(), kMaxRecords));
  for (const ChangeRecord& record : records) {
    Status added = plan.records < kMaxRecords
                       ? AddRecord(plan, record)
                       : Fail(Code::kResourceExhausted,
                              fmt::format("a batch has more than {} records", kMaxRecords));
    if (!added) {
      plan.bad = std::move(added.error());
      break;
    }
    ++plan.records;
  }
  plan.groups = GroupUsage(plan.changes, windows);
  return plan;
}

}  // namespace weir::dynamo
