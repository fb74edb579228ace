// ReservationStore in rate-limiter-py's non-fungible table. rate-limiter-py's clients and ours hold
// slots of the same keys at the same time: each side counts the slots of the other, and
// rate-limiter-py's event manager releases ours.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "weir/rate_limiter_py/slots/claim_call.h"
#include "weir/store/reservation/reservation_store.h"

namespace weir::rate_limiter_py {

/// Contract: store/reservation/reservation_store.h, among Weir's clients. rate-limiter-py's clients
/// count and put in two steps, so they may exceed the limit among themselves and next to ours.
/// Their slots may be bound, renewed and released here by their ids. Expiries are rounded up, by at
/// most a 32nd of the time to live, or by at most a second if that is more.
///
/// Errors: kInvalidArgument for invalid arguments; kDataLoss, with the row, for rows that no client
/// writes; kUnavailable if others change the same slots all the time.
class SlotStore final : public ReservationStore {
 public:
  /// `table` has the layout LayoutsOf(...).slots. `clock` measures the duration of calls, and must
  /// outlive the store and its calls. `resource_index` is the table's index of resource ids.
  SlotStore(dynamo::Table& table, const Clock& clock, std::string resource_index,
            SlotStoreOptions options = {});

  /// With a limit of 0, other programs' slots are not counted: `in_use` is the number of ours.
  void Claim(const SlotClaim& claim, UnixMillis now, Deadline deadline,
             Done<ClaimResult> done) override;
  void Bind(const SlotRef& slot, const std::string& resource_id, milliseconds ttl, UnixMillis now,
            Deadline deadline, Done<HeldSlot> done) override;
  void Renew(const SlotRef& slot, milliseconds ttl, UnixMillis now, Deadline deadline,
             Done<HeldSlot> done) override;
  void Release(const SlotRef& slot, UnixMillis now, Deadline deadline, Done<bool> done) override;
  void ReleaseUnbound(const SlotRef& slot, UnixMillis now, Deadline deadline,
                      Done<bool> done) override;
  /// Finds slots by the index, which is eventually consistent: call again later if a slot may have
  /// been bound just now.
  void ReleaseResource(const EndedResource& ended, UnixMillis now, Deadline deadline,
                       Done<std::size_t> done) override;
  void List(const AccountKey& key, const PageRequest& page, UnixMillis now, Deadline deadline,
            Done<Page<HeldSlot>> done) override;

 private:
  template <class Call>
  struct Running;

  template <class Call>
  void StartCall(Call call, UnixMillis now, Deadline deadline, Done<typename Call::Value> done);
  /// Carries out a step, and passes its event to the call.
  template <class Call>
  void ExecuteStep(std::unique_ptr<Running<Call>> running, typename Call::Step step);
  template <class Call, class Part>
  void SendStep(std::unique_ptr<Running<Call>> running, Part& part);
  /// Returns the client request token of a transaction.
  std::string TokenOf(const Writes& writes);

  dynamo::Table& table_;
  const Clock& clock_;
  const std::string resource_index_;
  const SlotStoreOptions options_;
  std::atomic<std::uint64_t> transactions_ = 0;
};

}  // namespace weir::rate_limiter_py
