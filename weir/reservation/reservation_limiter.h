// Capacity that time does not give back: may this account start one more of these now?
// Mechanism: docs/design/reservations.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "weir/base/done.h"
#include "weir/reservation/reservation.h"
#include "weir/runtime/deadline.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/reservation_backend.h"

namespace weir {

struct ReservationOptions {
  /// How long a slot is held that is not bound. Longer than a start of the thing takes.
  milliseconds reservation_ttl{300'000};
  /// How long a bound slot is held unless Bind or Renew says otherwise.
  milliseconds token_ttl{28'800'000};
  /// How long the limits table is believed; 0: it is read for every request.
  milliseconds limits_ttl{60'000};
  /// At most so many accounts' limits, and as many refusals, are remembered.
  std::size_t cache_capacity = 200'000;
  /// How long a refusal is believed at most: what other processes give back is seen after this
  /// time. 0: every request asks. milliseconds::max(): until the first of the slots expires.
  milliseconds full_for{5'000};
  /// At most so many requests wait; one more is refused with kResourceExhausted.
  std::size_t max_waiting = 100'000;
  /// How long the store may take for what is done with a reservation.
  milliseconds store_timeout{5'000};
  /// Seeds ids and jitter. Fixed in tests; otherwise from the system: ids must differ.
  std::optional<std::uint64_t> seed = std::nullopt;
};

/// The views must live until Reserve returns; what is needed later is copied.
struct ReserveRequest {
  std::string_view resource;
  std::string_view account;
  /// Slots at once, where the limits table has no row. 0 or less: blocked.
  std::int64_t default_limit = 0;
  /// Wait until then for a slot, first come first served on each key, instead of being refused. A
  /// request without this is refused while others wait.
  std::optional<Deadline> wait_until = std::nullopt;
  /// Instead of the table and the default.
  std::optional<std::int64_t> limit = std::nullopt;
};

/// No slot: an answer, not an error.
struct SlotRefusal {
  std::int64_t limit = 0;
  /// As last told by the store; at least the limit, unless the account is blocked.
  std::int64_t in_use = 0;
  /// Asking again sooner is in vain unless a slot comes back here. Nothing where it is blocked.
  std::optional<milliseconds> retry_after = std::nullopt;
  /// The account's limit is 0 or less.
  bool blocked = false;

  friend bool operator==(const SlotRefusal&, const SlotRefusal&) = default;
};

class ReserveOutcome {
 public:
  explicit ReserveOutcome(Reservation reservation) : answer_(std::move(reservation)) {}
  explicit ReserveOutcome(SlotRefusal refusal) : answer_(refusal) {}

  bool reserved() const { return answer_.index() == 0; }
  /// REQUIRES: reserved().
  Reservation reservation() && { return std::move(std::get<Reservation>(answer_)); }
  /// REQUIRES: not reserved().
  const SlotRefusal& refusal() const { return std::get<SlotRefusal>(answer_); }

 private:
  std::variant<Reservation, SlotRefusal> answer_;
};

struct ReservationStats {
  std::uint64_t reserved = 0;  ///< these three add up to all answers
  std::uint64_t refused = 0;
  std::uint64_t errors = 0;
  std::uint64_t remembered = 0;  ///< of the refused: those for which no store was asked
  std::uint64_t waiting = 0;     ///< at this moment
  std::uint64_t claims = 0;      ///< calls to the store, by kind
  std::uint64_t limit_reads = 0;
};

/// Thread-safe. Backend and Scheduler must outlive it and every call under way; it must outlive its
/// reservations, and is destroyed only when no Reserve is under way, save those that may wait:
/// these are answered kCancelled, one that asks the store when that answers (its slot is released).
class ReservationLimiter {
 public:
  ReservationLimiter(ReservationBackend& backend, Scheduler& scheduler,
                     ReservationOptions options = {});
  ~ReservationLimiter();
  ReservationLimiter(const ReservationLimiter&) = delete;
  ReservationLimiter& operator=(const ReservationLimiter&) = delete;

  /// A refusal is an outcome. An error is kInvalidArgument (an empty name, a limit beyond what is
  /// kept), kResourceExhausted (max_waiting), or what the store answered; where a slot may have
  /// been claimed all the same it is released, without waiting for that. Deadline: for the store's
  /// answers; of a request that waits, every later try has as long as the first had, and a store
  /// that does not answer (kUnavailable, kDeadlineExceeded, kAborted) is asked again until
  /// `wait_until`. `done` may run on the scheduler's thread.
  void Reserve(const ReserveRequest& request, Deadline deadline, Done<ReserveOutcome> done);
  /// Blocks. REQUIRES: not called on the scheduler's own thread.
  [[nodiscard]] Result<ReserveOutcome> Reserve(const ReserveRequest& request, Deadline deadline);

  /// Answers when no release without a waiting caller is in flight: of reservations that left their
  /// scope, and of claims in doubt. Each ends by `store_timeout`. Call it before the backend
  /// closes.
  void Drain(Done<void> done);
  /// Blocks. REQUIRES: not called on the scheduler's own thread.
  void Drain();

  ReservationStats stats() const;

 private:
  friend struct ReservedSlot;
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace weir
