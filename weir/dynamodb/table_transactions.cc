#include "weir/dynamodb/table_transactions.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "weir/dynamodb/batch_backoff.h"

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

// Returns true if the transaction was not sent, or its outcome is unknown.
bool IsPending(const WriteFailure& failure) {
  return failure.kind == FailureClass::kDeadline || failure.kind == FailureClass::kTransient ||
         failure.kind == FailureClass::kAmbiguous;
}

/// A transaction in flight. The callback of the next event owns it.
struct PatientTransaction {
  PatientTransaction(TableAccess& its_table, MakeTransaction its_make, Deadline deadline,
                     WriteDone its_done)
      : table(its_table), make(std::move(its_make)), backoff(deadline), done(std::move(its_done)) {}
  PatientTransaction(PatientTransaction&&) = delete;
  ~PatientTransaction() {
    if (done && last) done(tl::unexpected(std::move(*last)));
  }

  /// Makes and sends a try.
  static void SendTry(std::unique_ptr<PatientTransaction> state);
  /// Reports the result, or schedules another try.
  static void OnReply(std::unique_ptr<PatientTransaction> state,
                      tl::expected<WriteResponse, WriteFailure> response);
  /// Returns true if another try is to be made after this failure.
  bool MaySucceedLater(const WriteFailure& failure) const;

  TableAccess& table;
  MakeTransaction make;  ///< makes the transaction of the next try
  BatchBackoff backoff;
  WriteDone done;
  nanoseconds longest_try = nanoseconds::max();
  Deadline try_ends = Deadline::Never();
  std::optional<WriteFailure> last{};  ///< reported if the transaction is dropped during a pause
};

// The time limit of a try begins before its body is made, so the try ends at most longest_try after
// any time in the body.
void PatientTransaction::SendTry(std::unique_ptr<PatientTransaction> state) {
  PatientTransaction& sent = *state;
  const Deadline longest = Deadline::After(sent.table.scheduler.clock(), sent.longest_try);
  sent.try_ends = std::min(sent.backoff.deadline(), longest);
  SendTransaction(
      sent.table, sent.make(), sent.try_ends,
      [state = std::move(state)](tl::expected<WriteResponse, WriteFailure> response) mutable {
        OnReply(std::move(state), std::move(response));
      });
}

void PatientTransaction::OnReply(std::unique_ptr<PatientTransaction> state,
                                 tl::expected<WriteResponse, WriteFailure> response) {
  if (!response && state->last) response.error().maybe_applied |= state->last->maybe_applied;
  if (!response && state->MaySucceedLater(response.error())) {
    if (const auto at = state->table.NextTryAt(state->backoff)) {
      state->last = std::move(response.error());
      Scheduler& scheduler = state->table.scheduler;
      scheduler.At(*at, [state = std::move(state)]() mutable { SendTry(std::move(state)); });
      return;
    }
  }
  std::exchange(state->done, nullptr)(std::move(response));
}

bool PatientTransaction::MaySucceedLater(const WriteFailure& failure) const {
  if (IsPassing(failure)) return true;
  // The try was cut short by its own limit, and not by the deadline of the call.
  const bool is_over = try_ends.ExpiredAt(table.scheduler.clock().Now());
  return is_over && try_ends < backoff.deadline() && IsPending(failure);
}

}  // namespace

// A transaction can be repeated by the client: its token makes it count once.
void SendTransaction(TableAccess& table, const Transaction& transaction, Deadline deadline,
                     WriteDone done) {
  std::string body = TransactionBody(table.name, table.layout, transaction);
  table.client.Call(
      {.operation = "TransactWriteItems", .body = std::move(body), .repeatable = true}, deadline,
      [done = std::move(done)](const tl::expected<JsonReply, AwsFailure>& reply) mutable {
        done(ReadTransactionReply(reply));
      });
}

void SendPatiently(TableAccess& table, MakeTransaction make, const TryTerms& terms,
                   WriteDone done) {
  auto transaction =
      std::make_unique<PatientTransaction>(table, std::move(make), terms.deadline, std::move(done));
  transaction->longest_try = terms.longest_try;
  PatientTransaction::SendTry(std::move(transaction));
}

}  // namespace weir::dynamo
