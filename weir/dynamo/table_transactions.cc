// Transactions that are tried again: where others on their items were in the way, and where a try
// was cut short.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "weir/dynamo/batch_backoff.h"
#include "weir/dynamo/table.h"

namespace weir::dynamo {
namespace {

// Nothing was written, and the same writes may succeed in a moment.
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

// It was not sent, or nothing came back.
bool IsUnanswered(const WriteFailure& failure) {
  return failure.kind == FailureClass::kDeadline || failure.kind == FailureClass::kTransient ||
         failure.kind == FailureClass::kAmbiguous;
}

}  // namespace

/// One in flight. Whoever will hear of the next event owns it.
struct Table::Transacting {
  using MakeBody = std::move_only_function<std::string()>;
  Transacting(Table& its_table, MakeBody make, Deadline deadline, WriteDone answer)
      : table(its_table), body(std::move(make)), pace(deadline), done(std::move(answer)) {}
  Transacting(Transacting&&) = delete;
  ~Transacting() {
    if (done && last) done(tl::unexpected(std::move(*last)));
  }

  static void Step(std::unique_ptr<Transacting> state);
  /// Tells the answer, or makes another try later.
  static void Take(std::unique_ptr<Transacting> state,
                   tl::expected<WriteAnswer, WriteFailure> answer);
  bool MayGoBetter(const WriteFailure& failure) const;

  Table& table;
  MakeBody body;  ///< of the next try
  BatchBackoff pace;
  WriteDone done;
  nanoseconds longest_try = nanoseconds::max();
  Deadline try_ends = Deadline::Never();
  std::optional<WriteFailure> last{};  ///< told if it is dropped while it waits
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

// The time of the try begins before its body is made, so that no date in it is older.
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
  // The time of the try was over, not that of the call.
  const bool is_over = try_ends.ExpiredAt(table.scheduler_.clock().Now());
  return is_over && try_ends < pace.deadline() && IsUnanswered(failure);
}

}  // namespace weir::dynamo
