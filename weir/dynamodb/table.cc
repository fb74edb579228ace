#include "weir/dynamodb/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace weir::dynamo {
namespace {

std::string Begin(std::string_view table) {
  std::string body = R"({"TableName":)";
  AppendJson(body, table);
  return body;
}

void AppendKey(std::string& body, const TableKey& key, const TableLayout& layout) {
  body += R"(,"Key":)";
  AppendJson(body, ToItem(key, layout.keys));
}

std::string_view Operation(Write::Kind kind) {
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

// Returns the first text after all that have this prefix. (No key of the table is equal to it.)
std::string After(std::string prefix) {
  ++prefix.back();
  return prefix;
}

std::string KeyCondition(Expression& names, const IndexLayout& keys, const QueryRequest& request) {
  std::string condition =
      fmt::format("{} = {}", names.Name(keys.hash), names.Of(Of(request.partition)));
  if (!request.sort_from.empty()) {
    condition +=
        fmt::format(" AND {} BETWEEN {} AND {}", names.Name(keys.range),
                    names.Of(Of(request.sort_from)), names.Of(Of(After(request.sort_prefix))));
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

WriteFailure ToWriteFailure(const AwsFailure& failure) {
  WriteFailure told{.kind = failure.kind,
                    .error = ToError(failure),
                    .maybe_applied = failure.maybe_applied,
                    .old_item = {},
                    .reasons = {},
                    .key_range_throttled = failure.key_range_throttled};
  if (failure.kind != FailureClass::kConditional) return told;
  if (auto item = ReadItem(failure.body, "Item")) told.old_item = std::move(*item);
  if (auto reasons = ReadReasons(failure.body)) told.reasons = std::move(*reasons);
  return told;
}

tl::unexpected<WriteFailure> Unreadable(Error error) {
  // The write was applied, but its effect is unknown.
  return tl::unexpected(WriteFailure{.kind = FailureClass::kAmbiguous,
                                     .error = std::move(error),
                                     .maybe_applied = true,
                                     .old_item = {},
                                     .reasons = {}});
}

// Returns a callback that passes the response through `read` to `done`.
template <class T, class Read>
JsonDone Reading(Done<T> done, Read read) {
  return [done = std::move(done), read](tl::expected<JsonReply, AwsFailure> reply) mutable {
    if (!reply) return done(Fail(ToError(reply.error())));
    done(read(reply->body));
  };
}

}  // namespace

std::string_view WriteFailure::ReasonOf(std::size_t action) const {
  return action < reasons.size() ? std::string_view(reasons[action].code) : std::string_view();
}

Table::Table(JsonClient& client, Scheduler& scheduler, std::string name, std::uint64_t seed,
             const TableLayout& layout)
    : client_(client),
      opened_(BucketTime::FromWall(scheduler.clock())),
      scheduler_(scheduler),
      name_(std::move(name)),
      layout_(layout),
      rng_(seed) {}

// Returns the request without its closing brace.
std::string Table::WriteBody(const Write& write) const {
  std::string body = Begin(name_);
  if (write.kind == Write::Kind::kPut) {
    body += R"(,"Item":)";
    AppendJson(body, write.item);
  } else {
    AppendKey(body, write.key, layout_);
  }
  write.expression.AppendTo(body);
  body += R"(,"ReturnValuesOnConditionCheckFailure":"ALL_OLD")";
  return body;
}

std::string Table::QueryBody(const QueryRequest& request) const {
  std::string body = Begin(name_);
  Expression names;
  const IndexLayout& keys =
      request.index.empty() ? layout_.keys : layout_.global_indexes.at(request.index);
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
  if (request.start_after) {
    body += R"(,"ExclusiveStartKey":)";
    AppendJson(body, *request.start_after);
  }
  body += '}';
  return body;
}

void Table::Call(std::string operation, std::string body, Deadline deadline,
                 Done<std::string> done) {
  client_.Call({.operation = std::move(operation), .body = std::move(body), .repeatable = true},
               deadline, Reading(std::move(done), [](std::string& answer) {
                 return Result<std::string>(std::move(answer));
               }));
}

void Table::CallForCode(std::string operation, std::string body, Deadline deadline, JsonDone done) {
  client_.Call({.operation = std::move(operation), .body = std::move(body), .repeatable = true},
               deadline, std::move(done));
}

void Table::Get(const TableKey& key, Deadline deadline, Done<std::optional<Item>> done) {
  std::string body = Begin(name_);
  AppendKey(body, key, layout_);
  body += R"(,"ConsistentRead":true})";
  client_.Call(
      {.operation = "GetItem", .body = std::move(body), .repeatable = true}, deadline,
      Reading(std::move(done), [](const std::string& answer) { return ReadItem(answer, "Item"); }));
}

void Table::Query(const QueryRequest& request, Deadline deadline, Done<QueryAnswer> done) {
  client_.Call(
      {.operation = "Query", .body = QueryBody(request), .repeatable = true}, deadline,
      Reading(std::move(done), [](const std::string& answer) { return ReadQuery(answer); }));
}

void Table::QueryAll(QueryRequest request, std::size_t most, Deadline deadline,
                     Done<std::vector<Item>> done) {
  struct State {
    Table& table;
    QueryRequest request;
    std::size_t most;
    Deadline deadline;
    Done<std::vector<Item>> done;
    std::vector<Item> items{};

    static void Step(std::unique_ptr<State> self) {
      State& state = *self;
      state.table.Query(state.request, state.deadline,
                        [self = std::move(self)](Result<QueryAnswer> page) mutable {
                          if (!page) return self->done(Fail(std::move(page.error())));
                          Take(std::move(self), std::move(*page));
                        });
    }
    static void Take(std::unique_ptr<State> self, QueryAnswer page) {
      std::ranges::move(page.items, std::back_inserter(self->items));
      if (self->items.size() > self->most) {
        return self->done(
            Fail(Code::kResourceExhausted,
                 fmt::format("{}: more than {} items", self->request.partition, self->most)));
      }
      self->request.start_after = std::move(page.last_key);
      if (!self->request.start_after) return self->done(std::move(self->items));
      Step(std::move(self));
    }
  };
  State::Step(
      std::make_unique<State>(State{*this, std::move(request), most, deadline, std::move(done)}));
}

void Table::Apply(const Write& write, bool repeatable, Deadline deadline, WriteDone done) {
  std::string body = WriteBody(write);
  if (write.want_new) body += R"(,"ReturnValues":"ALL_NEW")";
  body += '}';
  client_.Call({.operation = fmt::format("{}Item", Operation(write.kind)),
                .body = std::move(body),
                .repeatable = repeatable},
               deadline,
               [done = std::move(done)](tl::expected<JsonReply, AwsFailure> reply) mutable {
                 if (!reply) return done(tl::unexpected(ToWriteFailure(reply.error())));
                 auto item = ReadItem(reply->body, "Attributes");
                 if (!item) return done(Unreadable(std::move(item.error())));
                 done(WriteAnswer{std::move(*item), reply->key_range_throttled});
               });
}

void Table::Transact(const std::vector<Write>& writes, std::string_view token, Deadline deadline,
                     WriteDone done) {
  SendTransaction(TransactionBody(writes, token), deadline, std::move(done));
}

std::string Table::TransactionBody(const std::vector<Write>& writes, std::string_view token) const {
  std::string body = R"({"ClientRequestToken":)";
  AppendJson(body, token);
  body += R"(,"TransactItems":[)";
  for (std::size_t i = 0; i < writes.size(); ++i) {
    body += fmt::format(R"({}{{"{}":)", i > 0 ? "," : "", Operation(writes[i].kind));
    body += WriteBody(writes[i]);
    body += "}}";
  }
  body += "]}";
  return body;
}

// A transaction can be repeated by the client: its token makes it count once.
void Table::SendTransaction(std::string body, Deadline deadline, WriteDone done) {
  client_.Call({.operation = "TransactWriteItems", .body = std::move(body), .repeatable = true},
               deadline,
               [done = std::move(done)](tl::expected<JsonReply, AwsFailure> reply) mutable {
                 if (!reply) return done(tl::unexpected(ToWriteFailure(reply.error())));
                 done(WriteAnswer{});
               });
}

}  // namespace weir::dynamo
