#include "weir/dynamodb/table_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "weir/base/owed_result.h"
#include "weir/dynamodb/batch_backoff.h"
#include "weir/dynamodb/response_parser.h"

namespace weir::dynamo {
namespace {

constexpr std::size_t kMaxGets = 100;
constexpr std::size_t kMaxDeletes = 25;

template <class T>
using OwedReply = OwedResult<T, "the table was closed before all keys were requested">;

// Removes the last keys, as many as one call may have, and returns them.
std::vector<TableKey> RemoveLast(std::vector<TableKey>& keys, std::size_t most) {
  const auto from = keys.end() - static_cast<std::ptrdiff_t>(std::min(most, keys.size()));
  std::vector<TableKey> some(std::make_move_iterator(from), std::make_move_iterator(keys.end()));
  keys.erase(from, keys.end());
  return some;
}

std::string BatchGetBody(const TableAccess& table, const std::vector<TableKey>& keys) {
  std::string body = R"({"RequestItems":{)";
  AppendJson(body, std::string_view(table.name));
  body += R"(:{"ConsistentRead":true,"Keys":[)";
  for (const TableKey& key : keys) {
    AppendJson(body, ToItem(key, table.layout.keys));
    body += ',';
  }
  body.back() = ']';
  return body + "}}}";
}

std::string BatchDeleteBody(const TableAccess& table, const std::vector<TableKey>& keys) {
  std::string body = R"({"RequestItems":{)";
  AppendJson(body, std::string_view(table.name));
  body += ":[";
  for (const TableKey& key : keys) {
    body += R"({"DeleteRequest":{"Key":)";
    AppendJson(body, ToItem(key, table.layout.keys));
    body += "}},";
  }
  body.back() = ']';
  return body + "}}";
}

// Batches in flight. The callback of its next event owns each batch.
//
//   SendNext --(no key is left)--> done
//   SendNext --> Send --> ContinueAfter --(the call did all its keys)--> SendNext
//                         ContinueAfter --(some are undone: a pause)--> SendNextAt --> SendNext
//                         ContinueAfter --(no pause is possible)--> done, with an error
struct Batches {
  // One call: the number of its keys, and how many of them it left undone.
  struct Round {
    std::string_view operation;
    std::size_t asked;
    std::size_t undone;
  };

  struct GetCall {
    TableAccess& table;
    std::vector<TableKey> keys;
    std::vector<TableKey> left;  // still to be requested
    BatchBackoff backoff;
    OwedReply<std::vector<std::optional<Item>>> done;
    std::map<TableKey, Item> found{};

    static constexpr std::string_view kOperation = "BatchGetItem";
    std::vector<std::optional<Item>> InOrder() const;
    /// Returns the number of keys that were left undone.
    std::size_t AddReply(BatchGetResponse response);
  };
  struct DeleteCall {
    TableAccess& table;
    std::vector<TableKey> left;
    BatchBackoff backoff;
    OwedReply<void> done;

    static constexpr std::string_view kOperation = "BatchWriteItem";
    std::size_t AddReply(const BatchWriteResponse& response);
  };

  static void SendNext(std::unique_ptr<GetCall> state);
  static void SendNext(std::unique_ptr<DeleteCall> state);

  template <class State>
  static void SendNextAt(Instant at, std::unique_ptr<State> state) {
    Scheduler& scheduler = state->table.scheduler;
    scheduler.At(at, [state = std::move(state)]() mutable { SendNext(std::move(state)); });
  }
  template <class State, class Response>
  static void Send(std::unique_ptr<State> state, std::string body, std::size_t asked,
                   Result<Response> (*read)(std::string_view)) {
    JsonClient& client = state->table.client;
    const Deadline deadline = state->backoff.deadline();
    JsonCall call = {
        .operation = std::string(State::kOperation), .body = std::move(body), .repeatable = true};
    client.Call(
        std::move(call), deadline,
        [asked, read, state = std::move(state)](tl::expected<JsonReply, AwsFailure> reply) mutable {
          if (!reply) return state->done(Fail(ToError(reply.error())));
          auto response = read(reply->body);
          if (!response) return state->done(Fail(std::move(response.error())));
          const std::size_t undone = state->AddReply(std::move(*response));
          ContinueAfter(std::move(state), {State::kOperation, asked, undone});
        });
  }
  // Continues at once after a call that left no key undone, else after a pause.
  template <class State>
  static void ContinueAfter(std::unique_ptr<State> state, const Round& round) {
    if (round.undone < round.asked) state->backoff.Progress();
    if (round.undone == 0) return SendNext(std::move(state));
    if (const auto at = state->table.NextTryAt(state->backoff))
      return SendNextAt(*at, std::move(state));
    state->done(
        Fail(Code::kUnavailable,
             fmt::format("{} at table {}: it is too busy, {} of {} keys stay undone; give it more "
                         "capacity or a later deadline",
                         round.operation, state->table.name, round.undone, round.asked)));
  }
};

std::vector<std::optional<Item>> Batches::GetCall::InOrder() const {
  std::vector<std::optional<Item>> items;
  for (const TableKey& key : keys) {
    const auto at = found.find(key);
    items.push_back(at == found.end() ? std::nullopt : std::optional(at->second));
  }
  return items;
}

std::size_t Batches::GetCall::AddReply(BatchGetResponse response) {
  for (Item& item : response.items) {
    TableKey key = KeyOf(item, table.layout.keys);
    found.insert_or_assign(std::move(key), std::move(item));
  }
  for (const Item& key : response.unprocessed_keys) left.push_back(KeyOf(key, table.layout.keys));
  return response.unprocessed_keys.size();
}

std::size_t Batches::DeleteCall::AddReply(const BatchWriteResponse& response) {
  for (const Item& key : response.unprocessed_deletes)
    left.push_back(KeyOf(key, table.layout.keys));
  return response.unprocessed_deletes.size();
}

void Batches::SendNext(std::unique_ptr<GetCall> state) {
  if (state->left.empty()) return state->done(state->InOrder());
  const std::vector<TableKey> some = RemoveLast(state->left, kMaxGets);
  std::string body = BatchGetBody(state->table, some);
  Send(std::move(state), std::move(body), some.size(), &ReadBatchGet);
}

void Batches::SendNext(std::unique_ptr<DeleteCall> state) {
  if (state->left.empty()) return state->done({});
  const std::vector<TableKey> some = RemoveLast(state->left, kMaxDeletes);
  std::string body = BatchDeleteBody(state->table, some);
  Send(std::move(state), std::move(body), some.size(), &ReadBatchWrite);
}

}  // namespace

void GetBatch(TableAccess& table, std::vector<TableKey> keys, Deadline deadline,
              Done<std::vector<std::optional<Item>>> done) {
  std::vector<TableKey> left = keys;
  std::ranges::sort(left);
  const auto duplicates = std::ranges::unique(left);
  left.erase(duplicates.begin(), duplicates.end());
  Batches::SendNext(std::make_unique<Batches::GetCall>(
      Batches::GetCall{.table = table,
                       .keys = std::move(keys),
                       .left = std::move(left),
                       .backoff = BatchBackoff(deadline),
                       .done = OwedReply<std::vector<std::optional<Item>>>(std::move(done))}));
}

void DeleteBatch(TableAccess& table, std::vector<TableKey> keys, Deadline deadline,
                 Done<void> done) {
  Batches::SendNext(std::make_unique<Batches::DeleteCall>(
      Batches::DeleteCall{.table = table,
                          .left = std::move(keys),
                          .backoff = BatchBackoff(deadline),
                          .done = OwedReply<void>(std::move(done))}));
}

}  // namespace weir::dynamo
