// Transactions that are retried: if others on their items were in the way, or if a try was cut
// short.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "weir/dynamodb/batch_backoff.h"
#include "weir/dynamodb/table.h"

namespace weir::dynamo {
namespace {

// Returns true if nothing was written, and the same writes may succeed soon.
bool IsPassing(const WriteFailure& failure) {
  if (failure.kind == FailureClass::kConflict) return true;
  if (failure.kind == FailureClass::kThrottle) return true;
  if (failure.kind != FailureClass::kConditional || failure.reasons.empty()) return false;
  static constexpr std::array<std::string_view, 4> kPassing = {
      "None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"};
  return std::ranges::all_of(failure.reasons, [](const CancellationReason& reason) {
    return std::ranges::find(kPassing, reason.code) != kPassing.end();
  });
}

// Returns true if the transaction was not sent, or there was no response.
bool IsUnanswered(const WriteFailure& failure) {
  return failure.kind == FailureClass::kDeadline || failure.kind == FailureClass::kTransient ||
         failure.kind == FailureClass::kAmbiguous;
}

}  // namespace

/// A transaction in flight. The callback of the next event owns it.
struct Table::Transacting {
  using MakeBody = std::move_only_function<std::string()>;
  Transacting(Table& its_table, MakeBody make, Deadline deadline, WriteDone answer)
      : table(its_table), body(std::move(make)), pace(deadline), done(std::move(answer)) {}
  Transacting(Transacting&&) = delete;
  ~Transacting() {
    if (done && last) done(tl::unexpected(std::move(*last)));
  }

  /// Makes and sends a try.
  static void Step(std::unique_ptr<Transacting> state);
  /// Reports the result, or schedules another try.
  static void Take(std::unique_ptr<Transacting> state,
                   tl::expected<WriteAnswer, WriteFailure> answer);
  /// Returns true if another try is to be made after this failure.
  bool MayGoBetter(const WriteFailure& failure) const;

  Table& table;
  MakeBody body;  ///< of the next try
  BatchBackoff pace;
  WriteDone done;
  nanoseconds longest_try = nanoseconds::max();
  Deadline try_ends = Deadline::Never();
  std::optional<WriteFailure> last{};  ///< reported if it is dropped during a pause
};

void Table::TransactPatiently(const std::vector<Write>& writes, std::string_view token,
                              Deadline deadline, WriteDone done) {
  Transacting::Step(std::make_unique<Transacting>(
      *this, [body = TransactionBody(writes, token)] { return body; }, deadline, std::move(done)));
}

void Table::TransactPatiently(MakeTransaction make, nanoseconds longest_try, Deadline deadline,
                              WriteDone done) {
  auto body = [this, make = std::move(make)]() mutable {
    const Transaction transaction = make();
    return TransactionBody(transaction.writes, transaction.token);
  };
  auto state = std::make_unique<Transacting>(*this, std::move(body), deadline, std::move(done));
  state->longest_try = longest_try;
  Transacting::Step(std::move(state));
}

// The time of the try begins before its body is made, so it ends at most longest_try after any time
// in the body.
void Table::Transacting::Step(std::unique_ptr<Transacting> state) {
  Transacting& sent = *state;
  const Deadline longest = Deadline::After(sent.table.scheduler_.clock(), sent.longest_try);
  sent.try_ends = std::min(sent.pace.deadline(), longest);
  sent.table.SendTransaction(
      sent.body(), sent.try_ends,
      [state = std::move(state)](tl::expected<WriteAnswer, WriteFailure> answer) mutable {
        Take(std::move(state), std::move(answer));
      });
}

void Table::Transacting::Take(std::unique_ptr<Transacting> state,
                              tl::expected<WriteAnswer, WriteFailure> answer) {
  if (!answer && state->last) answer.error().maybe_applied |= state->last->maybe_applied;
  if (!answer && state->MayGoBetter(answer.error())) {
    if (const auto at = state->table.NextTry(state->pace)) {
      state->last = std::move(answer.error());
      Scheduler& scheduler = state->table.scheduler_;
      scheduler.At(*at, [state = std::move(state)]() mutable { Step(std::move(state)); });
      return;
    }
  }
  std::exchange(state->done, nullptr)(std::move(answer));
}

bool Table::Transacting::MayGoBetter(const WriteFailure& failure) const {
  if (IsPassing(failure)) return true;
  // The try was cut short by its own end, and not by the deadline of the call.
  const bool is_over = try_ends.ExpiredAt(table.scheduler_.clock().Now());
  return is_over && try_ends < pace.deadline() && IsUnanswered(failure);
}

}  // namespace weir::dynamo
