#include "weir/dynamodb/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "weir/dynamodb/table_batches.h"
#include "weir/dynamodb/table_transactions.h"

namespace weir::dynamo {
namespace {

// Returns a callback that passes the response through `read` to `done`.
template <class T, class Read>
JsonDone ReadingWith(Done<T> done, Read read) {
  return [done = std::move(done), read](tl::expected<JsonReply, AwsFailure> reply) mutable {
    if (!reply) return done(Fail(ToError(reply.error())));
    done(read(reply->body));
  };
}

}  // namespace

Table::Table(JsonClient& client, Scheduler& scheduler, std::string name, std::uint64_t seed,
             const TableLayout& layout)
    : access_(client, scheduler, std::move(name), seed, layout),
      opened_(BucketTime::FromWall(scheduler.clock())) {}

void Table::Call(std::string operation, std::string body, Deadline deadline,
                 Done<std::string> done) {
  access_.client.Call(
      {.operation = std::move(operation), .body = std::move(body), .repeatable = true}, deadline,
      ReadingWith(std::move(done),
                  [](std::string& response) { return Result<std::string>(std::move(response)); }));
}

void Table::CallForCode(std::string operation, std::string body, Deadline deadline, JsonDone done) {
  access_.client.Call(
      {.operation = std::move(operation), .body = std::move(body), .repeatable = true}, deadline,
      std::move(done));
}

void Table::Get(const TableKey& key, Deadline deadline, Done<std::optional<Item>> done) {
  std::string body = GetBody(access_.name, access_.layout, key);
  access_.client.Call({.operation = "GetItem", .body = std::move(body), .repeatable = true},
                      deadline, ReadingWith(std::move(done), [](const std::string& response) {
                        return ReadItem(response, "Item");
                      }));
}

void Table::Query(const QueryRequest& request, Deadline deadline, Done<QueryResponse> done) {
  access_.client.Call({.operation = "Query",
                       .body = QueryBody(access_.name, access_.layout, request),
                       .repeatable = true},
                      deadline, ReadingWith(std::move(done), [](const std::string& response) {
                        return ReadQuery(response);
                      }));
}

void Table::Scan(const ScanRequest& request, Deadline deadline, Done<QueryResponse> done) {
  access_.client.Call({.operation = "Scan",
                       .body = ScanBody(access_.name, access_.layout, request),
                       .repeatable = true},
                      deadline, ReadingWith(std::move(done), [](const std::string& response) {
                        return ReadQuery(response);
                      }));
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

    static void ReadNextPage(std::unique_ptr<State> self) {
      State& state = *self;
      state.table.Query(state.request, state.deadline,
                        [self = std::move(self)](Result<QueryResponse> page) mutable {
                          if (!page) return self->done(Fail(std::move(page.error())));
                          AddPage(std::move(self), std::move(*page));
                        });
    }
    static void AddPage(std::unique_ptr<State> self, QueryResponse page) {
      std::ranges::move(page.items, std::back_inserter(self->items));
      if (self->items.size() > self->most) {
        return self->done(
            Fail(Code::kResourceExhausted,
                 fmt::format("{}: more than {} items", self->request.partition, self->most)));
      }
      self->request.start_after = std::move(page.last_key);
      if (!self->request.start_after) return self->done(std::move(self->items));
      ReadNextPage(std::move(self));
    }
  };
  State::ReadNextPage(
      std::make_unique<State>(State{*this, std::move(request), most, deadline, std::move(done)}));
}

void Table::BatchGet(std::vector<TableKey> keys, Deadline deadline,
                     Done<std::vector<std::optional<Item>>> done) {
  GetBatch(access_, std::move(keys), deadline, std::move(done));
}

void Table::DeleteAll(std::vector<TableKey> keys, Deadline deadline, Done<void> done) {
  DeleteBatch(access_, std::move(keys), deadline, std::move(done));
}

void Table::Apply(const Write& write, bool repeatable, Deadline deadline, WriteDone done) {
  access_.client.Call({.operation = OperationOf(write),
                       .body = WriteBody(access_.name, access_.layout, write),
                       .repeatable = repeatable},
                      deadline,
                      [done = std::move(done)](tl::expected<JsonReply, AwsFailure> reply) mutable {
                        done(ReadWriteReply(std::move(reply)));
                      });
}

void Table::Transact(const std::vector<Write>& writes, std::string_view token, Deadline deadline,
                     WriteDone done) {
  SendTransaction(access_, {writes, std::string(token)}, deadline, std::move(done));
}

void Table::TransactPatiently(const std::vector<Write>& writes, std::string_view token,
                              Deadline deadline, WriteDone done) {
  auto make = [transaction = Transaction{writes, std::string(token)}] { return transaction; };
  SendPatiently(access_, std::move(make), {.deadline = deadline}, std::move(done));
}

void Table::TransactPatiently(MakeTransaction make, nanoseconds longest_try, Deadline deadline,
                              WriteDone done) {
  SendPatiently(access_, std::move(make), {.deadline = deadline, .longest_try = longest_try},
                std::move(done));
}

}  // namespace weir::dynamo
