#include "weir/dynamo/dynamo_fixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "weir/dynamo/table_layout.h"
#include "weir/sim/dynamo_table.h"

namespace weir::dynamo {
namespace {

constexpr char kTableName[] = "limits";

HttpRequest RequestOf(const JsonCall& call) {
  return {.headers = {{"x-amz-target", "DynamoDB_20120810." + call.operation}}, .body = call.body};
}

AwsFailure NoAnswer(const JsonCall& call, DirectClient::Fault fault) {
  const bool unsent = fault == DirectClient::Fault::kUnsent;
  return {.kind = unsent ? FailureClass::kTransient : FailureClass::kAmbiguous,
          .message = call.operation + ": no answer",
          .attempts = 1,
          .maybe_applied = !unsent};
}

AwsFailure FailureOf(const JsonCall& call, HttpResponse response) {
  AwsFailure failure{.code = ErrorCode(response)};
  failure.kind = Classify(response.status, failure.code, call.operation);
  failure.message = fmt::format("{}: {}: {}", call.operation, failure.code, ErrorText(response));
  failure.body = std::move(response.body);
  failure.http_status = response.status;
  failure.attempts = 1;
  return failure;
}

std::string TextOf(const sim::Item& item, const std::string& name) {
  return *item.at(name).As<std::string>();
}

}  // namespace

void DirectClient::Call(JsonCall call, Deadline, JsonDone done) {
  if (before_each) {
    const auto before = std::exchange(before_each, nullptr);
    before(call);
    before_each = before;
  }
  ++calls_;
  if (FailsNow() && fault_at_->second == Fault::kUnsent) {
    return done(tl::unexpected(NoAnswer(call, Fault::kUnsent)));
  }
  if (!refusal.empty()) {
    const std::string body = fmt::format(R"({{"__type":"com.amazonaws#{}"}})", refusal);
    return done(tl::unexpected(FailureOf(call, {.status = 400, .body = body})));
  }
  HttpResponse response = server_.Handle(RequestOf(call));
  if (FailsNow()) return done(tl::unexpected(NoAnswer(call, Fault::kLostAnswer)));
  if (response.status != 200) {
    return done(tl::unexpected(FailureOf(call, std::move(response))));
  }
  done(JsonReply{.body = std::move(response.body)});
}

SimTable::SimTable(bool empty, std::uint64_t seed)
    : server(scheduler.clock(), seed), client(server), table(client, kTableName) {
  if (empty) return;
  const HttpResponse made = server.Handle(
      RequestOf({.operation = "CreateTable", .body = CreateTableBody(kTableName, OurLayout())}));
  if (made.status != 200) std::abort();
}

void SimTable::Put(Item item) {
  const Write put{.kind = Write::Kind::kPut, .key = {}, .item = std::move(item), .expression = {}};
  bool is_done = false;
  table.Apply(put, false, Deadline::Never(), [&](const auto& answer) { is_done = !!answer; });
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
    if (stored.now) keys.push_back({TextOf(*stored.now, "PK"), TextOf(*stored.now, "SK")});
  }
  std::ranges::sort(keys);
  return keys;
}

}  // namespace weir::dynamo
