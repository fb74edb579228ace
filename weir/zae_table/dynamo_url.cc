#include "weir/zae_table/dynamo_url.h"

#include <fmt/format.h>

#include <utility>

#include "weir/model/namespace_name.h"
#include "weir/model/quoted.h"

namespace weir::dynamo {
namespace {

constexpr UrlForm kForm{
    .scheme = "dynamodb:",
    .advice = "write dynamodb://TABLE?region=REGION&endpoint=URL&namespace=NAME",
    .has_namespace = true};

std::string EnvironmentOr(const Environment& environment, const std::string& variable,
                          std::string_view fallback) {
  std::optional<std::string> value = environment(variable);
  return value && !value->empty() ? *value : std::string(fallback);
}

// Adds the name of the environment variable to the error about a name that was read from it.
Status WithVariable(Status status, std::string_view url, std::string_view variable) {
  if (status) return status;
  return Fail(status.error().code,
              fmt::format("{}: the name comes from the environment variable {}: {}",
                          Quoted(url.substr(0, url.find('?'))), variable, status.error().message));
}

}  // namespace

Result<DynamoUrl> ParseDynamoUrl(std::string_view url, const Environment& environment) {
  WEIR_ASSIGN_OR_RETURN(const ServiceUrl fields, ReadServiceUrl(url, kForm));
  DynamoUrl parsed{
      .table = fields.name ? *fields.name : EnvironmentOr(environment, "ZAEL_STACK", "zae-limiter"),
      .region = fields.region.value_or(""),
      .endpoint = fields.endpoint.value_or(""),
      .namespace_name = fields.namespace_name
                            ? *fields.namespace_name
                            : EnvironmentOr(environment, "ZAEL_NAMESPACE", "default")};
  Status table_status = CheckTableName(parsed.table);
  if (!fields.name) table_status = WithVariable(std::move(table_status), url, "ZAEL_STACK");
  WEIR_RETURN_IF_ERROR(table_status);
  Status namespace_status = CheckNameOrId(parsed.namespace_name);
  if (!fields.namespace_name) {
    namespace_status = WithVariable(std::move(namespace_status), url, "ZAEL_NAMESPACE");
  }
  WEIR_RETURN_IF_ERROR(namespace_status);
  return parsed;
}

std::string ToText(const DynamoUrl& url) {
  std::string text = fmt::format("dynamodb://{}?", url.table);
  if (!url.region.empty()) text += fmt::format("region={}&", EncodeForUrl(url.region));
  if (!url.endpoint.empty()) text += fmt::format("endpoint={}&", EncodeForUrl(url.endpoint));
  return text + fmt::format("namespace={}", EncodeForUrl(url.namespace_name));
}

}  // namespace weir::dynamo
