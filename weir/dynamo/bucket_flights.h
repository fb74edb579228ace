// The writes of one bucket's actor that have no response yet, and the parts that each one carries.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weir/dynamo/bucket_image.h"
#include "weir/dynamo/bucket_part.h"
#include "weir/dynamo/take_view.h"
#include "weir/dynamo/write_fence.h"

namespace weir::dynamo {

/// A write that has no response yet.
struct Flight {
  std::uint64_t id = 0;                         ///< ascending in the order of sending
  std::optional<WriteFence::WriteId> fenced{};  ///< nothing: every slot of the item is in use
  std::vector<PartId> parts{};
  PartId last_part = 0;  ///< the latest one of the process when it was sent
  Instant sent{};
  UnixMillis planned_at{};  ///< rf in the image
  bool moves_rf = false;
  milliseconds set_back{0};  ///< BucketPlan
  bool is_tight = false;     ///< BucketBatch
  bool foreseen = false;     ///< planned from the image that an own write had left
  std::optional<Item> created{};
  bool records = false;  ///< its last write records a token
};

/// A round of fenced writes of the same parts, each of which supersedes the ones before; or one
/// that is not fenced. Settlements name the parts whose outcome a response has shown. Not
/// thread-safe.
class BucketFlights {
 public:
  using Settlement = WriteFence::Settlement;

  /// `instance`: of the fence. `last_id`: the latest identifier of a write in this process, which
  /// must outlive it: a response may come when its actor is gone and the bucket has another one.
  BucketFlights(std::uint64_t instance, std::uint64_t& last_id)
      : fence_(instance), last_id_(last_id) {}

  /// Begins a write by the latest image (null: it creates the item). Nothing: it is not fenced.
  std::optional<WriteFence::Guard> Begin(const std::vector<PartId>& parts, const BucketImage* image,
                                         UnixMillis now, std::uint32_t draw);
  /// It will not be sent after all.
  void Cancel(const WriteFence::Guard& guard) { fence_.OnNotSent(guard.write); }
  /// It is sent. Returns its identifier.
  std::uint64_t Add(Flight flight);
  /// Takes out a write whose response came. Nothing: its round is settled already.
  std::optional<Flight> Take(std::uint64_t id);

  Settlement OnApplied(const Flight& flight);
  /// Its condition failed. Nothing: the item does not exist.
  Settlement OnFailed(const Flight& flight, const std::optional<Item>& item);
  Settlement OnNotSent(const Flight& flight);
  /// There will be no response. The next write of the round settles it.
  Settlement OnLost(const Flight& flight, Instant now);
  /// Gives up learning outcomes that have been in doubt for 10 s. Nothing: no doubt is that old.
  std::optional<Settlement> Abandon(Instant now);

  /// When a write that supersedes the latest one may be sent; kNoTime: not before a response.
  Instant SupersedeAt(const Moment& moment) const;
  /// When an image is to be read: the response of the write in flight contains one too, unless it
  /// is late.
  Instant LookAt(const Moment& moment) const;
  /// kNoTime: nothing is in doubt.
  Instant abandon_at() const;

  bool is_full() const { return fence_.unanswered() >= WriteFence::kMostUnanswered; }
  /// A write that was sent may still be applied.
  bool is_settled() const { return fence_.unanswered() == 0; }
  bool is_empty() const { return flights_.empty(); }
  /// The latest write that was sent.
  std::uint64_t last_id() const { return last_id_; }
  /// The latest write that was sent before any that is in flight.
  std::uint64_t last_answered_id() const;

 private:
  Settlement Settled(Settlement settlement);

  WriteFence fence_;
  std::vector<Flight> flights_;
  std::uint64_t& last_id_;
  std::optional<Instant> doubt_since_;
};

}  // namespace weir::dynamo
