#include "weir/aggregator/lambda/function_settings.h"

#include <fmt/format.h>

#include "weir/aws/s3/s3_connection.h"
#include "weir/base/integer_text.h"
#include "weir/dynamodb/service_url.h"

namespace weir::dynamo {
namespace {

constexpr std::int64_t kLongestRetention = 36'500;

using ReadVariable = std::function<std::optional<std::string>(const std::string& name)>;

std::string ValueOf(const ReadVariable& environment, const std::string& name,
                    std::string_view fallback = "") {
  const std::string value = environment(name).value_or("");
  return value.empty() ? std::string(fallback) : value;
}

tl::unexpected<Error> Wrong(std::string_view name, std::string_view value, std::string_view right) {
  if (value.empty()) {
    return Fail(Code::kInvalidArgument, fmt::format("{} is not set; {}", name, right));
  }
  return Fail(Code::kInvalidArgument, fmt::format("{}='{}': {}", name, value, right));
}

Result<std::string> ReadTable(const ReadVariable& environment) {
  std::string table = ValueOf(environment, "TABLE_NAME");
  if (table.empty()) {
    return Wrong("TABLE_NAME", table,
                 "set it to the name of the table whose stream the function reads");
  }
  const Status valid = CheckTableName(table);
  if (!valid) return Wrong("TABLE_NAME", table, valid.error().message);
  return table;
}

Result<std::vector<UsageWindow>> ReadWindows(const ReadVariable& environment) {
  const std::string text = ValueOf(environment, "SNAPSHOT_WINDOWS", "hourly,daily");
  auto windows = ParseUsageWindows(text);
  if (!windows) return Wrong("SNAPSHOT_WINDOWS", text, windows.error().message);
  return windows;
}

Result<std::int64_t> ReadRetention(const ReadVariable& environment) {
  const std::string text = ValueOf(environment, "SNAPSHOT_TTL_DAYS", "90");
  const auto days = ReadInteger<std::int64_t>(text);
  if (days && *days >= 1 && *days <= kLongestRetention) return *days;
  return Wrong("SNAPSHOT_TTL_DAYS", text,
               fmt::format("expected a number of days from 1 to {}", kLongestRetention));
}

Result<std::optional<std::string>> ReadArchive(const ReadVariable& environment) {
  const std::string enabled = ValueOf(environment, "ENABLE_ARCHIVAL", "false");
  if (enabled == "false") return std::optional<std::string>();
  if (enabled != "true") {
    return Wrong("ENABLE_ARCHIVAL", enabled, "expected true or false");
  }
  const std::string bucket = ValueOf(environment, "ARCHIVE_BUCKET_NAME");
  if (bucket.empty()) {
    return Wrong("ARCHIVE_BUCKET_NAME", bucket,
                 "set it to the bucket for expired audit events, or set ENABLE_ARCHIVAL to false");
  }
  const Status valid = CheckS3Bucket(bucket);
  if (!valid) return Wrong("ARCHIVE_BUCKET_NAME", bucket, valid.error().message);
  return std::optional(bucket);
}

}  // namespace

Result<FunctionSettings> ReadFunctionSettings(const ReadVariable& environment) {
  FunctionSettings settings;
  WEIR_ASSIGN_OR_RETURN(settings.table, ReadTable(environment));
  WEIR_ASSIGN_OR_RETURN(settings.windows, ReadWindows(environment));
  WEIR_ASSIGN_OR_RETURN(settings.retention_days, ReadRetention(environment));
  WEIR_ASSIGN_OR_RETURN(settings.archive_bucket, ReadArchive(environment));
  settings.function_name = ValueOf(environment, "AWS_LAMBDA_FUNCTION_NAME", "function");
  return settings;
}

}  // namespace weir::dynamo
