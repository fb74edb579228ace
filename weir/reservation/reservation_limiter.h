// Limits capacity that time does not give back: the number of resources (clusters, jobs) that an
// account has at once. Mechanism: docs/design/reservations.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "weir/base/api.h"
#include "weir/base/done.h"
#include "weir/reservation/reservation.h"
#include "weir/runtime/deadline.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/reservation/reservation_backend.h"

namespace weir {

struct ReservationOptions {
  /// Time to live of a slot that is not bound. Must be longer than the creation of a resource
  /// takes.
  milliseconds reservation_ttl{300'000};
  /// Time to live of a bound slot, unless Bind or Renew set another.
  milliseconds token_ttl{28'800'000};
  /// Time for which rows of the limits table, and the absence of a row, are cached; 0: the table is
  /// read for every request.
  milliseconds limits_ttl{60'000};
  /// Maximum number of cached limits, and of cached refusals. Each belongs to one resource and
  /// account.
  std::size_t cache_capacity = 200'000;
  /// Maximum time for which a refusal is cached. Slots that other processes release are found after
  /// this time. 0: every request calls the store. milliseconds::max(): until the first held slot
  /// expires.
  milliseconds full_for{5'000};
  /// Maximum number of requests that wait. One more fails with kResourceExhausted.
  std::size_t max_waiting = 100'000;
  /// Time within which the store must respond to the calls of a Reservation and to each try of a
  /// waiting request. A request that does not wait gives the store its whole deadline.
  milliseconds store_timeout{5'000};
  /// Seed of slot ids and jitter. Set it in tests only; by default the system provides it, because
  /// ids must be unique.
  std::optional<std::uint64_t> seed = std::nullopt;
};

/// A request for one slot. The viewed strings must stay valid until Reserve returns; the limiter
/// copies the parts that it needs later.
struct ReserveRequest {
  std::string_view resource;
  std::string_view account;
  /// The number of slots that may be held at the same time if the limits table has no row. 0 or
  /// less: blocked.
  std::int64_t default_limit = 0;
  /// If true, the request waits for a slot until the deadline of the call instead of being refused.
  /// Waiting requests are served first come, first served on each key. A request that does not wait
  /// is refused while others wait.
  bool wait = false;
  /// Ends the wait before the deadline of the call, so that time is left for the last try, which
  /// has at most `store_timeout`. A request whose wait_until has passed tries once. Has no effect
  /// on a request that does not wait.
  Deadline wait_until = Deadline::Never();
  /// The limit of this request. If set, neither the limits table nor default_limit is used.
  std::optional<std::int64_t> limit = std::nullopt;
};

/// The result of a request that got no slot. It is not an error.
struct SlotRefusal {
  std::int64_t limit = 0;
  /// The number of held slots, as the store last returned it (`limit` if it has returned none); at
  /// least `limit`. 0 if the account is blocked.
  std::int64_t in_use = 0;
  /// The time after which to request a slot again. While the refusal is cached, an earlier request
  /// is refused without a call to the store, unless a slot is released through this limiter.
  /// Not set if the account is blocked.
  std::optional<milliseconds> retry_after = std::nullopt;
  /// The account's limit is 0 or less.
  bool blocked = false;

  friend bool operator==(const SlotRefusal&, const SlotRefusal&) = default;
};

class WEIR_API ReserveOutcome {
 public:
  explicit ReserveOutcome(Reservation reservation) : result_(std::move(reservation)) {}
  explicit ReserveOutcome(SlotRefusal refusal) : result_(refusal) {}

  bool reserved() const { return result_.index() == 0; }
  /// Returns the reservation, which the caller then owns. REQUIRES: reserved().
  Reservation reservation() && { return std::move(std::get<Reservation>(result_)); }
  /// REQUIRES: not reserved().
  const SlotRefusal& refusal() const { return std::get<SlotRefusal>(result_); }

 private:
  std::variant<Reservation, SlotRefusal> result_;
};

struct ReservationStats {
  // Each completed request is counted in one of these three.
  std::uint64_t reserved = 0;
  std::uint64_t refused = 0;
  std::uint64_t errors = 0;
  /// Those of `refused` whose account is blocked, or that did not wait and found a cached refusal
  /// or waiting requests. Requests whose wait ended are not counted here.
  std::uint64_t remembered = 0;
  std::uint64_t waiting = 0;      ///< requests that wait now
  std::uint64_t claims = 0;       ///< calls to the store that claim a slot
  std::uint64_t limit_reads = 0;  ///< calls to the store that read the limits table
};

/// Reserves slots of a backend. Thread-safe.
///
/// The backend and the scheduler must outlive the limiter and every call in flight, and the limiter
/// must outlive its reservations. Requests that wait may be pending when the limiter is destroyed;
/// no other call of Reserve may be. They complete with kCancelled at once, on the thread that
/// destroys the limiter. If a try is in flight, the request completes when the store responds: with
/// the store's error, with a refusal if its wait is over, or else with kCancelled. A slot that this
/// try claimed is released.
class WEIR_API ReservationLimiter {
 public:
  ReservationLimiter(ReservationBackend& backend, Scheduler& scheduler,
                     ReservationOptions options = {});
  ~ReservationLimiter();
  ReservationLimiter(const ReservationLimiter&) = delete;
  ReservationLimiter& operator=(const ReservationLimiter&) = delete;

  /// Requests a slot and passes the outcome to `done`. A refusal is an outcome, not an error.
  ///
  /// The request completes by `deadline`, provided that the store completes each call by the call's
  /// deadline. A try of a waiting request has at most `store_timeout`. If a try fails with
  /// kUnavailable, kDeadlineExceeded or kAborted, the request tries again until its wait ends.
  /// `done` runs on the calling thread before Reserve returns, on the thread on which the store
  /// completes its call, on the scheduler's thread, or on the thread that destroys the limiter.
  ///
  /// Errors: kInvalidArgument for an invalid name or a limit out of range; kResourceExhausted if
  /// max_waiting requests wait already; kCancelled if the limiter was destroyed while the request
  /// waited; or an error of the store. If a slot may have been claimed despite an error, it is
  /// released, without waiting for the result.
  void Reserve(const ReserveRequest& request, Deadline deadline, Done<ReserveOutcome> done);
  /// Like the overload above, but blocks. Fails with kFailedPrecondition on a thread that runs
  /// callbacks (CallbackScope).
  [[nodiscard]] Result<ReserveOutcome> Reserve(const ReserveRequest& request, Deadline deadline);

  /// Calls `done` when none of the limiter's own releases is in flight: the releases of destroyed
  /// reservations, and of claims whose result was lost. Each release ends within
  /// `store_timeout`. Call Drain before the backend is closed.
  void Drain(Done<void> done);
  /// Like the overload above, but blocks. REQUIRES: not called on the scheduler's thread.
  void Drain();

  ReservationStats stats() const;

 private:
  friend struct ReservedSlot;
  class WEIR_INTERNAL State;
  std::shared_ptr<State> state_;
};

}  // namespace weir
