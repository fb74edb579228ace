// The table that the verbs on tables work with.
#include <fmt/format.h>

#include <memory>

#include "apps/weir/context.h"
#include "apps/weir/table_verbs.h"
#include "weir/dynamo/connection.h"

namespace weir::app {
namespace {

constexpr std::string_view kScheme = "dynamodb:";

Result<dynamo::DynamoUrl> TableUrl(Context& context) {
  const std::string url = context.NamedStore().value_or(std::string(kScheme));
  if (!url.starts_with(kScheme)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("store '{}' is no table: name one with --store dynamodb://TABLE", url));
  }
  return dynamo::ParseDynamoUrl(url, context.world().environment);
}

}  // namespace

Result<Exit> WithTableOfStore(Context& context, const TableWork& work) {
  const Result<dynamo::DynamoUrl> url = TableUrl(context);
  if (!url) {
    context.failure = Exit::kUsage;
    return Fail(url.error());
  }
  WEIR_ASSIGN_OR_RETURN(
      const auto connection,
      dynamo::Connection::Open(*url, context.world().clock, SurroundingsOf(context.world())));
  return work({.table = connection->table(),
               .scheduler = connection->scheduler(),
               .url = connection->url(),
               .random = dynamo::Connection::Random()});
}

}  // namespace weir::app
