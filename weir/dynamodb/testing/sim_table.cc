#include "weir/dynamodb/testing/sim_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "weir/aws/response_classifier.h"
#include "weir/dynamodb/table_layout.h"
#include "weir/sim/dynamodb/dynamo_table.h"

namespace weir::dynamo {
namespace {

constexpr char kTableName[] = "limits";

AwsFailure NoResponse(const JsonCall& call, DirectClient::Fault fault) {
  const bool unsent = fault == DirectClient::Fault::kUnsent;
  return {.kind = unsent ? FailureClass::kTransient : FailureClass::kAmbiguous,
          .message = call.operation + ": no answer",
          .attempts = 1,
          .maybe_applied = !unsent};
}

std::string TextOf(const sim::Item& item, const std::string& name) {
  return *item.at(name).As<std::string>();
}

}  // namespace

HttpRequest RequestOf(const JsonCall& call) {
  return {.headers = {{"x-amz-target", "DynamoDB_20120810." + call.operation}}, .body = call.body};
}

tl::expected<JsonReply, AwsFailure> ReplyTo(const std::string& operation, HttpResponse response) {
  Attempt attempt =
      ClassifyResponse(std::move(response),
                       {.operation = operation, .host = "simulated", .max_error_body = 64 * 1024});
  if (attempt.result) return JsonReply{.body = *std::move(attempt.result)};
  attempt.result.error().attempts = 1;
  return tl::unexpected(std::move(attempt.result.error()));
}

void CreateTableIn(sim::SimServer& server, std::string_view name, const TableLayout& layout) {
  const HttpResponse made =
      server.Handle(RequestOf({.operation = "CreateTable", .body = CreateTableBody(name, layout)}));
  if (made.status != 200) std::abort();
}

void DirectClient::Call(JsonCall call, Deadline deadline, JsonDone done) {
  if (before_each) {
    const auto before = std::exchange(before_each, nullptr);
    before(call);
    before_each = before;
  }
  ++calls_;
  if (clock != nullptr && deadline.ExpiredAt(clock->Now())) {
    return done(tl::unexpected(
        AwsFailure{.kind = FailureClass::kDeadline, .message = "the deadline has passed"}));
  }
  if (FailsNow() && fault_at_->second == Fault::kUnsent) {
    return done(tl::unexpected(NoResponse(call, Fault::kUnsent)));
  }
  if (!refusal.empty()) {
    const std::string body = fmt::format(R"({{"__type":"com.amazonaws#{}"}})", refusal);
    return done(ReplyTo(call.operation, {.status = 400, .body = body}));
  }
  if (!cancellation.empty() && call.operation == "TransactWriteItems") {
    const std::string body = fmt::format(
        R"({{"__type":"a#TransactionCanceledException","CancellationReasons":[{{"Code":"{}"}}]}})",
        cancellation);
    return done(ReplyTo(call.operation, {.status = 400, .body = body}));
  }
  HttpResponse response = server_.Handle(RequestOf(call));
  if (FailsNow()) return done(tl::unexpected(NoResponse(call, Fault::kLostResponse)));
  done(ReplyTo(call.operation, std::move(response)));
}

const TableLayout& PlainLayout() {
  static const TableLayout layout = [] {
    TableLayout made;
    made.keys = {"PK", "SK", ""};
    made.key_types = {{"PK", "S"}, {"SK", "S"}};
    made.billing = "PAY_PER_REQUEST";
    return made;
  }();
  return layout;
}

SimTable::SimTable(const TableLayout& layout, bool empty, std::uint64_t seed)
    : server(scheduler.clock(), seed),
      client(server),
      table(client, scheduler, kTableName, seed, layout) {
  if (empty) return;
  CreateTableIn(server, kTableName, layout);
}

void SimTable::Put(Item item) {
  const Write put{.kind = Write::Kind::kPut, .key = {}, .item = std::move(item), .expression = {}};
  bool is_done = false;
  table.Apply(put, false, Deadline::Never(), [&](const auto& response) { is_done = !!response; });
  if (!is_done) std::abort();
}

std::optional<Item> SimTable::Get(const TableKey& key) {
  auto item = Ask<std::optional<Item>>(
      [&](auto done) { table.Get(key, Deadline::Never(), std::move(done)); });
  if (!item) std::abort();
  return std::move(*item);
}

std::vector<TableKey> SimTable::AllKeys() {
  std::vector<TableKey> keys;
  for (const auto& [key, stored] : server.Table(kTableName)->items()) {
    if (!stored.now) continue;
    const IndexLayout& names = table.layout().keys;
    keys.push_back({TextOf(*stored.now, names.hash), TextOf(*stored.now, names.range)});
  }
  std::ranges::sort(keys);
  return keys;
}

}  // namespace weir::dynamo
