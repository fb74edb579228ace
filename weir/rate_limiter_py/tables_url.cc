#include "weir/rate_limiter_py/tables_url.h"

#include "weir/dynamodb/service_url.h"

namespace weir::rate_limiter_py {
namespace {

constexpr dynamo::UrlForm kForm{
    .scheme = kUrlScheme, .advice = "write rate-limiter-py://BASE?region=REGION&endpoint=URL"};

}  // namespace

Result<TablesUrl> ParseTablesUrl(std::string_view url, const dynamo::Environment& environment) {
  WEIR_ASSIGN_OR_RETURN(const dynamo::ServiceUrl fields, dynamo::ReadServiceUrl(url, kForm));
  WEIR_ASSIGN_OR_RETURN(TableNames names, FindNames(fields.name.value_or(""), environment));
  return TablesUrl{.names = std::move(names),
                   .region = fields.region.value_or(""),
                   .endpoint = fields.endpoint.value_or("")};
}

}  // namespace weir::rate_limiter_py
