#include "weir/zae_table/table_admin.h"

#include <fmt/format.h>

#include <utility>

#include "weir/dynamodb/done_chain.h"
#include "weir/zae_table/keys.h"
#include "weir/zae_table/table_features.h"

namespace weir::dynamo {
namespace {

constexpr std::string_view kNoTable = "ResourceNotFoundException";

// ReadStatus makes four calls, one after the other.
void ReadVersionOf(Table& table, TableStatus status, Deadline deadline, Done<TableStatus> done) {
  table.Get(VersionRecord(), deadline,
            Then<std::optional<Item>>(
                std::move(done), [status = std::move(status)](const std::optional<Item>& record,
                                                              Done<TableStatus> next) mutable {
                  if (record) status.version = ReadVersion(*record);
                  next(std::move(status));
                }));
}

void ReadRecoveryOf(Table& table, TableStatus status, Deadline deadline, Done<TableStatus> done) {
  ReadRecovery(
      table, deadline,
      Then<Feature>(std::move(done), [&table, deadline, status = std::move(status)](
                                         Feature recovery, Done<TableStatus> next) mutable {
        status.recovery = recovery;
        ReadVersionOf(table, std::move(status), deadline, std::move(next));
      }));
}

void ReadFeaturesOf(Table& table, TableStatus status, Deadline deadline, Done<TableStatus> done) {
  ReadTimeToLive(table, deadline,
                 Then<TimeToLive>(
                     std::move(done), [&table, deadline, status = std::move(status)](
                                          const TimeToLive& found, Done<TableStatus> next) mutable {
                       status.time_to_live = found.feature;
                       status.time_to_live_attribute = found.attribute;
                       ReadRecoveryOf(table, std::move(status), deadline, std::move(next));
                     }));
}

void AddTimeToLive(const TableStatus& status, std::string_view attribute,
                   std::vector<std::string>& lines) {
  if (status.time_to_live == Feature::kOff) {
    lines.push_back(fmt::format("time to live: off, should be on for attribute {}", attribute));
  } else if (status.time_to_live == Feature::kOn && status.time_to_live_attribute != attribute) {
    lines.push_back(fmt::format("time to live: on for attribute {}, should be {}",
                                status.time_to_live_attribute, attribute));
  }
}

void AddVersion(const TableStatus& status, std::vector<std::string>& lines) {
  if (!status.version) return lines.push_back("version record: none, should be there");
  if (status.version->schema != kSchemaVersion) {
    lines.push_back(
        fmt::format("schema version: {}, should be {}", status.version->schema, kSchemaVersion));
  }
  const Status fit = CheckVersion(*status.version);
  if (!fit) lines.push_back("version record: " + fit.error().message);
}

}  // namespace

void TableAdmin::Create(std::string_view by, Deadline deadline, Done<TableCreated> done) {
  CreateTable(table_, scheduler_,
              {.purpose = purpose_, .by = std::string(by), .deadline = deadline}, std::move(done));
}

void TableAdmin::ReadStatus(Deadline deadline, Done<TableStatus> done) {
  DescribeTable(
      table_, deadline,
      Then<TableDescription>(std::move(done), [&table = table_, deadline](TableDescription found,
                                                                          Done<TableStatus> next) {
        TableStatus status;
        status.table = std::move(found);
        // Other calls on a table that is not ready yet would fail.
        if (status.table.status == "CREATING") return next(std::move(status));
        ReadFeaturesOf(table, std::move(status), deadline, std::move(next));
      }));
}

std::vector<std::string> Shortcomings(const TableStatus& status, const TableLayout& layout,
                                      const TablePurpose& purpose) {
  std::vector<std::string> lines = RelevantDifferences(status.table.layout, layout, purpose);
  if (status.table.status != "ACTIVE") {
    lines.push_back(fmt::format("status: {}, should be ACTIVE", status.table.status));
  }
  if (!purpose.time_to_live.empty()) AddTimeToLive(status, purpose.time_to_live, lines);
  if (purpose.recovery && status.recovery == Feature::kOff) {
    lines.push_back("recovery to a point in time: off, should be on");
  }
  if (purpose.version) AddVersion(status, lines);
  return lines;
}

void TableAdmin::Check(Deadline deadline, Done<std::vector<std::string>> done) {
  ReadStatus(deadline,
             Then<TableStatus>(std::move(done), [&layout = table_.layout(), purpose = purpose_](
                                                    const TableStatus& status, auto next) {
               next(Shortcomings(status, layout, purpose));
             }));
}

void TableAdmin::Survey(std::uint64_t max_items, Deadline deadline, Done<TableSurvey> done) {
  ReadStatus(
      deadline, Then<TableStatus>(std::move(done), [&table = table_, max_items, deadline](
                                                       TableStatus status, Done<TableSurvey> next) {
        if (status.table.status == "CREATING") {
          return next(TableSurvey{.status = std::move(status)});
        }
        ReadContents(
            table, max_items, deadline,
            Then<TableContents>(std::move(next), [status = std::move(status)](
                                                     TableContents contents, auto then) mutable {
              then(TableSurvey{std::move(status), std::move(contents)});
            }));
      }));
}

void TableAdmin::Upgrade(UpgradeRequest request, std::function<Deadline()> deadlines,
                         Done<UpgradeReport> done) {
  UpgradeTable(table_, std::move(request), std::move(deadlines), std::move(done));
}

void TableAdmin::Delete(Deadline deadline, Done<void> done) {
  std::string body = R"({"TableName":)";
  AppendJson(body, std::string_view(table_.name()));
  auto on_reply = [name = table_.name(),
                   done = std::move(done)](tl::expected<JsonReply, AwsFailure> reply) mutable {
    if (reply) return done({});
    // An earlier attempt of this call deleted the table, and its response was lost.
    const bool is_missing = reply.error().code == kNoTable;
    if (is_missing && reply.error().attempts > 1) return done({});
    if (is_missing) return done(Fail(NoSuchTable(name)));
    done(Fail(ToError(reply.error())));
  };
  table_.CallForCode("DeleteTable", body + '}', deadline, std::move(on_reply));
}

}  // namespace weir::dynamo
