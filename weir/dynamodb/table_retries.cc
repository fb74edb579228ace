// The batches of a table. A batch goes on if the table was too busy to execute all of it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "weir/dynamodb/batch_backoff.h"
#include "weir/dynamodb/table.h"

namespace weir::dynamo {
namespace {

constexpr std::size_t kMostGets = 100;
constexpr std::size_t kMostDeletes = 25;

// A Done that reports kCancelled if it is dropped, by a scheduler that ends.
template <class T>
class Owed {
 public:
  explicit Owed(Done<T> done) : done_(std::move(done)) {}
  Owed(Owed&& other) noexcept : done_(std::exchange(other.done_, nullptr)) {}
  Owed& operator=(Owed&&) = delete;
  ~Owed() {
    if (done_) done_(Fail(Code::kCancelled, "the table was closed before all was asked for"));
  }
  // Reports the result. REQUIRES: it was not reported before.
  void Tell(Result<T> answer) { std::exchange(done_, nullptr)(std::move(answer)); }

 private:
  Done<T> done_;
};

// Removes the last keys, as many as one call may have, and returns them.
std::vector<TableKey> TakeSome(std::vector<TableKey>& keys, std::size_t most) {
  const auto from = keys.end() - static_cast<std::ptrdiff_t>(std::min(most, keys.size()));
  std::vector<TableKey> some(std::make_move_iterator(from), std::make_move_iterator(keys.end()));
  keys.erase(from, keys.end());
  return some;
}

std::string BatchGetBody(const Table& table, const std::vector<TableKey>& keys) {
  std::string body = R"({"RequestItems":{)";
  AppendJson(body, std::string_view(table.name()));
  body += R"(:{"ConsistentRead":true,"Keys":[)";
  for (const TableKey& key : keys) {
    AppendJson(body, ToItem(key, table.layout().keys));
    body += ',';
  }
  body.back() = ']';
  return body + "}}}";
}

std::string BatchDeleteBody(const Table& table, const std::vector<TableKey>& keys) {
  std::string body = R"({"RequestItems":{)";
  AppendJson(body, std::string_view(table.name()));
  body += ":[";
  for (const TableKey& key : keys) {
    body += R"({"DeleteRequest":{"Key":)";
    AppendJson(body, ToItem(key, table.layout().keys));
    body += "}},";
  }
  body.back() = ']';
  return body + "}}";
}

}  // namespace

// Batches in flight. The callback of the next event owns each.
//
//   Step --> Send --> GoOn --> Step: the next keys, or the result if there are none
//    ^                 |
//    +--- StepAt <-----+
//      after a pause, if keys were left undone
struct Table::Retries {
  // The number of keys in one call, and of those that it left undone.
  struct Round {
    std::string_view operation;
    std::size_t asked;
    std::size_t undone;
  };

  struct BatchGetting {
    Table& table;
    std::vector<TableKey> keys;
    std::vector<TableKey> left;  // to be requested
    BatchBackoff pace;
    Owed<std::vector<std::optional<Item>>> answer;
    std::map<TableKey, Item> found{};

    static constexpr std::string_view kOperation = "BatchGetItem";
    std::vector<std::optional<Item>> InOrder() const;
    /// Returns the number of keys that were left undone.
    std::size_t Take(BatchGetAnswer some);
  };
  struct Deleting {
    Table& table;
    std::vector<TableKey> left;
    BatchBackoff pace;
    Owed<void> answer;

    static constexpr std::string_view kOperation = "BatchWriteItem";
    std::size_t Take(const BatchWriteAnswer& some);
  };

  static void Step(std::unique_ptr<BatchGetting> state);
  static void Step(std::unique_ptr<Deleting> state);

  template <class State>
  static void StepAt(Instant at, std::unique_ptr<State> state) {
    Scheduler& scheduler = state->table.scheduler_;
    scheduler.At(at, [state = std::move(state)]() mutable { Step(std::move(state)); });
  }
  template <class State, class Answer>
  static void Send(std::unique_ptr<State> state, std::string body, std::size_t asked,
                   Result<Answer> (*read)(std::string_view)) {
    JsonClient& client = state->table.client_;
    const Deadline deadline = state->pace.deadline();
    JsonCall call = {
        .operation = std::string(State::kOperation), .body = std::move(body), .repeatable = true};
    client.Call(
        std::move(call), deadline,
        [asked, read, state = std::move(state)](tl::expected<JsonReply, AwsFailure> reply) mutable {
          if (!reply) return state->answer.Tell(Fail(ToError(reply.error())));
          auto answer = read(reply->body);
          if (!answer) return state->answer.Tell(Fail(std::move(answer.error())));
          const std::size_t undone = state->Take(std::move(*answer));
          GoOn(std::move(state), {State::kOperation, asked, undone});
        });
  }
  template <class State>
  // Continues at once after a call that did everything, else after a pause.
  static void GoOn(std::unique_ptr<State> state, const Round& round) {
    if (round.undone < round.asked) state->pace.Progress();
    if (round.undone == 0) return Step(std::move(state));
    if (const auto at = state->table.NextTry(state->pace)) return StepAt(*at, std::move(state));
    state->answer.Tell(
        Fail(Code::kUnavailable,
             fmt::format("{} at table {}: it is too busy, {} of {} keys stay undone; give it more "
                         "capacity or a later deadline",
                         round.operation, state->table.name_, round.undone, round.asked)));
  }
};

std::optional<Instant> Table::NextTry(BatchBackoff& pace) {
  const MutexLock lock(mutex_);
  return pace.Next(scheduler_.clock().Now(), rng_);
}

std::vector<std::optional<Item>> Table::Retries::BatchGetting::InOrder() const {
  std::vector<std::optional<Item>> items;
  for (const TableKey& key : keys) {
    const auto at = found.find(key);
    items.push_back(at == found.end() ? std::nullopt : std::optional(at->second));
  }
  return items;
}

std::size_t Table::Retries::BatchGetting::Take(BatchGetAnswer some) {
  for (Item& item : some.items) {
    TableKey key = KeyOf(item, table.layout_.keys);
    found.insert_or_assign(std::move(key), std::move(item));
  }
  for (const Item& key : some.unprocessed_keys) left.push_back(KeyOf(key, table.layout_.keys));
  return some.unprocessed_keys.size();
}

std::size_t Table::Retries::Deleting::Take(const BatchWriteAnswer& some) {
  for (const Item& key : some.unprocessed_deletes) left.push_back(KeyOf(key, table.layout_.keys));
  return some.unprocessed_deletes.size();
}

void Table::BatchGet(std::vector<TableKey> keys, Deadline deadline,
                     Done<std::vector<std::optional<Item>>> done) {
  std::vector<TableKey> left = keys;
  std::ranges::sort(left);
  const auto twice = std::ranges::unique(left);
  left.erase(twice.begin(), twice.end());
  Retries::Step(std::make_unique<Retries::BatchGetting>(
      Retries::BatchGetting{.table = *this,
                            .keys = std::move(keys),
                            .left = std::move(left),
                            .pace = BatchBackoff(deadline),
                            .answer = Owed(std::move(done))}));
}

void Table::Retries::Step(std::unique_ptr<BatchGetting> state) {
  if (state->left.empty()) return state->answer.Tell(state->InOrder());
  const std::vector<TableKey> some = TakeSome(state->left, kMostGets);
  std::string body = BatchGetBody(state->table, some);
  Send(std::move(state), std::move(body), some.size(), &ReadBatchGet);
}

void Table::DeleteAll(std::vector<TableKey> keys, Deadline deadline, Done<void> done) {
  Retries::Step(std::make_unique<Retries::Deleting>(
      Retries::Deleting{.table = *this,
                        .left = std::move(keys),
                        .pace = BatchBackoff(deadline),
                        .answer = Owed<void>(std::move(done))}));
}

void Table::Retries::Step(std::unique_ptr<Deleting> state) {
  if (state->left.empty()) return state->answer.Tell({});
  const std::vector<TableKey> some = TakeSome(state->left, kMostDeletes);
  std::string body = BatchDeleteBody(state->table, some);
  Send(std::move(state), std::move(body), some.size(), &ReadBatchWrite);
}

}  // namespace weir::dynamo
