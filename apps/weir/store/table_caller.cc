#include "apps/weir/store/table_caller.h"

#include <memory>
#include <utility>

#include "weir/aws/credentials/caller_identity.h"
#include "weir/aws/service_connection.h"
#include "weir/runtime/await.h"
#include "weir/zae_table/dynamo_url.h"

namespace weir::app {
namespace {

Result<bool> IsOnAws(const ServiceOptions& service, const HostEnvironment& environment) {
  WEIR_ASSIGN_OR_RETURN(const ServiceLocation location, LocateService(service, environment));
  return IsHostOfAws(location.endpoint.host);
}

}  // namespace

Result<std::optional<std::string>> FindCaller(const std::string& url, const Clock& clock,
                                              const HostEnvironment& environment, Log& log) {
  if (!url.starts_with("dynamodb:")) return std::nullopt;
  const auto variable = [&](const std::string& name) { return environment.environment(name); };
  WEIR_ASSIGN_OR_RETURN(const dynamo::DynamoUrl table, dynamo::ParseDynamoUrl(url, variable));
  const ServiceOptions dynamodb{.service = "dynamodb",
                                .region = EmptyToNull(table.region),
                                .endpoint_url = EmptyToNull(table.endpoint),
                                .profile = {}};
  const ServiceOptions sts{
      .service = "sts", .region = dynamodb.region, .endpoint_url = {}, .profile = {}};
  WEIR_ASSIGN_OR_RETURN(const bool is_table_on_aws, IsOnAws(dynamodb, environment));
  WEIR_ASSIGN_OR_RETURN(const bool is_sts_on_aws, IsOnAws(sts, environment));
  if (!is_table_on_aws && is_sts_on_aws) return std::nullopt;
  ServiceConnectionOptions options{.service = sts};
  options.log = &log;
  WEIR_ASSIGN_OR_RETURN(const auto connection,
                        ServiceConnection::Open(std::move(options), clock, environment));
  WEIR_ASSIGN_OR_RETURN(std::string arn, Await<std::string>([&](Done<std::string> done) {
                          GetCallerArn(connection->client(), Deadline::After(clock, kCallerWait),
                                       std::move(done));
                        }));
  return std::optional(std::move(arn));
}

}  // namespace weir::app
