#include "weir/dynamodb/table_requests.h"

#include <fmt/format.h>

#include <utility>

namespace weir::dynamo {
namespace {

std::string BodyOf(std::string_view table) {
  std::string body = R"({"TableName":)";
  AppendJson(body, table);
  return body;
}

void AppendKey(std::string& body, const TableKey& key, const TableLayout& layout) {
  body += R"(,"Key":)";
  AppendJson(body, ToItem(key, layout.keys));
}

std::string_view ActionOf(Write::Kind kind) {
  switch (kind) {
    case Write::Kind::kUpdate:
      return "Update";
    case Write::Kind::kPut:
      return "Put";
    case Write::Kind::kDelete:
      return "Delete";
    case Write::Kind::kCheck:
      return "ConditionCheck";
  }
  return "";
}

// Returns the first text after all texts with this prefix. (No key of the table is equal to it.)
std::string FirstTextAfter(std::string prefix) {
  ++prefix.back();
  return prefix;
}

std::string KeyCondition(Expression& names, const IndexLayout& keys, const QueryRequest& request) {
  std::string condition =
      fmt::format("{} = {}", names.Name(keys.hash), names.Of(Of(request.partition)));
  if (!request.sort_from.empty()) {
    condition += fmt::format(" AND {} BETWEEN {} AND {}", names.Name(keys.range),
                             names.Of(Of(request.sort_from)),
                             names.Of(Of(FirstTextAfter(request.sort_prefix))));
  } else if (!request.sort_prefix.empty()) {
    condition += fmt::format(" AND begins_with({}, {})", names.Name(keys.range),
                             names.Of(Of(request.sort_prefix)));
  } else if (!request.sort_below.empty()) {
    condition +=
        fmt::format(" AND {} < {}", names.Name(keys.range), names.Of(Of(request.sort_below)));
  }
  return condition;
}

void AppendProjection(std::string& body, Expression& names, const QueryRequest& request) {
  if (request.attributes.empty()) return;
  std::string projection;
  for (const std::string& attribute : request.attributes) {
    projection += (projection.empty() ? "" : ", ") + names.Name(attribute);
  }
  body += R"(,"ProjectionExpression":)";
  AppendJson(body, std::string_view(projection));
}

void AppendStart(std::string& body, const std::optional<Item>& start_after) {
  if (!start_after) return;
  body += R"(,"ExclusiveStartKey":)";
  AppendJson(body, *start_after);
}

WriteFailure ToWriteFailure(const AwsFailure& failure) {
  WriteFailure write{.kind = failure.kind,
                     .error = ToError(failure),
                     .maybe_applied = failure.maybe_applied,
                     .old_item = {},
                     .reasons = {},
                     .key_range_throttled = failure.key_range_throttled};
  if (failure.kind != FailureClass::kConditional) return write;
  if (auto item = ReadItem(failure.body, "Item")) write.old_item = std::move(*item);
  if (auto reasons = ReadReasons(failure.body)) write.reasons = std::move(*reasons);
  return write;
}

tl::unexpected<WriteFailure> UnreadableReply(Error error) {
  // The write was applied, but its effect is unknown.
  return tl::unexpected(WriteFailure{.kind = FailureClass::kAmbiguous,
                                     .error = std::move(error),
                                     .maybe_applied = true,
                                     .old_item = {},
                                     .reasons = {}});
}

// Returns the request without its closing brace.
std::string UnclosedBody(std::string_view table, const TableLayout& layout, const Write& write) {
  std::string body = BodyOf(table);
  if (write.kind == Write::Kind::kPut) {
    body += R"(,"Item":)";
    AppendJson(body, write.item);
  } else {
    AppendKey(body, write.key, layout);
  }
  write.expression.AppendTo(body);
  body += R"(,"ReturnValuesOnConditionCheckFailure":"ALL_OLD")";
  return body;
}

}  // namespace

std::string_view WriteFailure::ReasonOf(std::size_t action) const {
  return action < reasons.size() ? std::string_view(reasons[action].code) : std::string_view();
}

std::string GetBody(std::string_view table, const TableLayout& layout, const TableKey& key) {
  std::string body = BodyOf(table);
  AppendKey(body, key, layout);
  return body + R"(,"ConsistentRead":true})";
}

std::string QueryBody(std::string_view table, const TableLayout& layout,
                      const QueryRequest& request) {
  std::string body = BodyOf(table);
  Expression names;
  const IndexLayout& keys =
      request.index.empty() ? layout.keys : layout.global_indexes.at(request.index);
  const std::string condition = KeyCondition(names, keys, request);
  body += R"(,"KeyConditionExpression":)";
  AppendJson(body, std::string_view(condition));
  AppendProjection(body, names, request);
  names.AppendTo(body);
  if (request.index.empty()) {
    body += R"(,"ConsistentRead":true)";
  } else {
    body += R"(,"IndexName":)";
    AppendJson(body, std::string_view(request.index));
  }
  body += fmt::format(R"(,"ScanIndexForward":{},"Limit":{})", request.forward, request.limit);
  AppendStart(body, request.start_after);
  body += '}';
  return body;
}

std::string ScanBody(std::string_view table, const TableLayout& layout,
                     const ScanRequest& request) {
  std::string body = BodyOf(table);
  if (!request.sort_prefix.empty()) {
    Expression names;
    const std::string filter = fmt::format("begins_with({}, {})", names.Name(layout.keys.range),
                                           names.Of(Of(request.sort_prefix)));
    body += R"(,"FilterExpression":)";
    AppendJson(body, std::string_view(filter));
    names.AppendTo(body);
  }
  body += fmt::format(R"(,"ConsistentRead":true,"Limit":{})", request.limit);
  AppendStart(body, request.start_after);
  body += '}';
  return body;
}

std::string WriteBody(std::string_view table, const TableLayout& layout, const Write& write) {
  std::string body = UnclosedBody(table, layout, write);
  if (write.want_new) body += R"(,"ReturnValues":"ALL_NEW")";
  body += '}';
  return body;
}

std::string TransactionBody(std::string_view table, const TableLayout& layout,
                            const Transaction& transaction) {
  std::string body = R"({"ClientRequestToken":)";
  AppendJson(body, std::string_view(transaction.token));
  body += R"(,"TransactItems":[)";
  bool is_first = true;
  for (const Write& write : transaction.writes) {
    body += fmt::format(R"({}{{"{}":)", is_first ? "" : ",", ActionOf(write.kind));
    body += UnclosedBody(table, layout, write);
    body += "}}";
    is_first = false;
  }
  body += "]}";
  return body;
}

std::string OperationOf(const Write& write) { return fmt::format("{}Item", ActionOf(write.kind)); }

tl::expected<WriteResponse, WriteFailure> ReadWriteReply(
    tl::expected<JsonReply, AwsFailure> reply) {
  if (!reply) return tl::unexpected(ToWriteFailure(reply.error()));
  auto item = ReadItem(reply->body, "Attributes");
  if (!item) return UnreadableReply(std::move(item.error()));
  return WriteResponse{std::move(*item), reply->key_range_throttled};
}

tl::expected<WriteResponse, WriteFailure> ReadTransactionReply(
    const tl::expected<JsonReply, AwsFailure>& reply) {
  if (!reply) return tl::unexpected(ToWriteFailure(reply.error()));
  return WriteResponse{};
}

}  // namespace weir::dynamo
