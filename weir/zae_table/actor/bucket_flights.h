// The writes of one bucket's actor that are in flight, and the parts that each one carries.
//
//   Begin --> Add --> in flight --> Remove --+--> OnApplied, OnFailed, OnNotApplied --> Settlement
//     |                                      |
//     +--> Cancel                            +--> OnLost: in doubt --> Settlement of the next write
//                                                                      or, after 10 s, of Abandon
//
// A round ends with the Settlement after which none of its writes is open (WriteFence). Writes of
// the round that are still in flight are then dropped, and Remove returns nothing for them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weir/zae_table/actor/bucket_part.h"
#include "weir/zae_table/actor/write_fence.h"
#include "weir/zae_table/bucket/bucket_image.h"
#include "weir/zae_table/bucket/take_judge.h"

namespace weir::dynamo {

/// A write in flight.
struct Flight {
  std::uint64_t id = 0;  ///< ascending in the order of sending, within the process
  /// The write's identifier in the fence. Nothing: the write is not fenced, because other processes
  /// hold all slots of the item.
  std::optional<WriteFence::WriteId> fence_id{};
  std::vector<PartId> parts{};  ///< the parts that the write carries
  PartId last_part = 0;         ///< the latest part of the process when the write was sent
  Instant sent{};               ///< the time at which the request was sent
  UnixMillis planned_rf{};      ///< rf in the image that it was planned from
  bool moves_rf = false;        ///< BucketPlan::moves_rf
  milliseconds set_back{0};     ///< BucketPlan::set_back
  bool is_tight = false;        ///< BucketBatch::is_tight
  bool planned_from_own_image =
      false;                      ///< planned from an image that a write of this process stored
  std::optional<Item> created{};  ///< the item, if the write creates it
  bool records = false;           ///< the last action of its transaction records an adjust
};

/// One round of fenced writes, each of which supersedes the writes before it and carries their
/// parts again; or one write that is not fenced. Settlements report the parts whose outcome is
/// known. Not thread-safe.
class BucketFlights {
 public:
  using Settlement = WriteFence::Settlement;

  /// `instance`: FenceValue::instance. `last_id` is the latest identifier of a write in this
  /// process and must outlive the object. All actors share it, because a response may arrive after
  /// its actor was destroyed and the bucket has got a new actor.
  BucketFlights(std::uint64_t instance, std::uint64_t& last_id)
      : fence_(instance), last_id_(last_id) {}

  /// Begins a fenced write that is planned from `image`, or that creates the item if `image` is
  /// null. `now` is the bucket time, `draw` random. Returns nothing if the write cannot be fenced.
  /// Add or Cancel must follow. REQUIRES: !is_full().
  std::optional<WriteFence::Guard> Begin(const std::vector<PartId>& parts, const BucketImage* image,
                                         UnixMillis now, std::uint32_t draw);
  /// Ends a write that was begun and will not be sent.
  void Cancel(const WriteFence::Guard& guard) { fence_.OnNotApplied(guard.write); }
  /// Adds a write that is sent now. Returns its identifier.
  std::uint64_t Add(Flight flight);
  /// Removes and returns a write whose response has come. Returns nothing if its round is settled.
  std::optional<Flight> Remove(std::uint64_t id);

  // Each of the following ends a write that was removed by Remove.

  /// The write was applied.
  Settlement OnApplied(const Flight& flight);
  /// A condition of the write failed. `item` is the item at that time; nothing: it does not exist.
  Settlement OnFailed(const Flight& flight, const std::optional<Item>& item);
  /// The write was certainly not applied.
  Settlement OnNotApplied(const Flight& flight);
  /// The response was lost. A fenced write is in doubt until a later write of the round settles it.
  Settlement OnLost(const Flight& flight, Instant now);

  /// Reports the parts of the round as unknown if a write has been in doubt for 10 s. Returns
  /// nothing if no write has been in doubt for this time.
  std::optional<Settlement> Abandon(Instant now);

  /// Returns when a write that supersedes the latest one may be sent. kNoTime: not before a
  /// response.
  Instant SupersedeAt(const ProtocolTime& now) const;
  /// Returns the time from which the item may be read. Before it, a write in flight is expected to
  /// return an image, and a read is not needed.
  Instant ReadDueAt(const ProtocolTime& now) const;
  /// Returns when Abandon gives up; kNoTime: no write is in doubt.
  Instant abandon_at() const;

  /// The round has as many open writes as the fence can track.
  bool is_full() const { return fence_.open_writes() >= WriteFence::kMaxOpenWrites; }
  /// The fence has no open write: the outcomes of all fenced writes were reported, some as unknown.
  /// A write in flight that is not fenced does not count.
  bool is_settled() const { return fence_.open_writes() == 0; }
  /// No write is in flight. Writes in doubt do not count.
  bool is_empty() const { return flights_.empty(); }
  /// The latest write that any actor of the process has sent.
  std::uint64_t last_id() const { return last_id_; }
  /// The latest write that was sent before all writes in flight. The image of a read that is sent
  /// now is later than this write, but perhaps not later than the writes in flight.
  std::uint64_t last_id_before_flights() const;

 private:
  /// Drops the writes in flight if the fence has no open write. Returns the settlement.
  Settlement DropFlightsIfSettled(Settlement settlement);

  WriteFence fence_;
  std::vector<Flight> flights_;  // in flight, in the order of sending
  std::uint64_t& last_id_;
  // The time at which the response of the first write in doubt was lost.
  std::optional<Instant> doubt_since_;
};

}  // namespace weir::dynamo
