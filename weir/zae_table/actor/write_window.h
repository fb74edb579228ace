// How many writes a process has in flight on its table, and which bucket writes next when there is
// no room for all. Mechanism: docs/design/actor.md, "A table that is slower than its callers".
#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace weir::dynamo {

/// The number of writes in flight of a process. Not thread-safe.
class WriteWindow {
 public:
  /// As many as the client has connections (CrtTransportOptions::max_connections): more writes
  /// would wait in the client, which does not know the deadlines of their callers.
  static constexpr std::size_t kMost = 64;

  /// Returns true if a bucket that does not wait may send a write.
  bool is_open() const { return has_room() && !is_reserved_; }
  bool has_room() const { return in_flight_ < kMost; }
  /// While it is reserved, only buckets that wait may write.
  void Reserve(bool is_reserved) { is_reserved_ = is_reserved; }

  void OnSent() { ++in_flight_; }
  /// A write has a response, or will not get one any more.
  void OnEnded() { --in_flight_; }

 private:
  std::size_t in_flight_ = 0;
  bool is_reserved_ = false;
};

/// The write for which a bucket waits.
struct AwaitedWrite {
  /// The parts that the write would carry at most. Takes that no write carries yet and whose
  /// callers have too little time left do not count.
  std::int64_t parts = 0;
  /// The write has a part that must be written even if no caller waits (a correction, a return),
  /// stores limits, or settles a write in doubt.
  bool is_owed = false;
};

/// The buckets that wait for room in the window. All writes cost the table the same, so the bucket
/// with the most parts is next; among equal ones, the bucket that has waited longest. But every
/// second turn belongs to buckets with an owed write, and every fourth to the bucket that has
/// waited longest, so that buckets with few callers are served, too. A turn ends with a write: a
/// bucket without one leaves its turn to the next. `Bucket` is compared by address. Not
/// thread-safe.
template <class Bucket>
class WindowQueue {
 public:
  /// Adds the bucket. If it waits already, replaces its write; the bucket then keeps its place.
  void Put(Bucket& bucket, AwaitedWrite write);
  /// Does nothing if the bucket does not wait.
  void Remove(Bucket& bucket);
  /// Removes and returns the next bucket; null if none waits. While a bucket waits, the time of its
  /// callers runs out, so `recount(bucket)` returns its write as it is now: in a turn that belongs
  /// to the bucket with the most parts, a bucket that has fewer than when it was put is put again,
  /// and buckets with more go first. Each bucket that is put again lowers `recounts_left`; at 0,
  /// the bucket is taken as it was put.
  template <class Recount>
  Bucket* TakeNext(Recount recount, int& recounts_left);
  /// The bucket that was taken has sent a write.
  void EndTurn() { ++turn_; }
  bool is_empty() const { return places_.empty(); }

 private:
  struct Place {
    AwaitedWrite write;
    std::uint64_t since = 0;  // ascending in the order in which buckets began to wait
  };
  bool is_turn_of_owed() const { return turn_ % 2 == 0 && !owed_.empty(); }
  bool is_turn_of_oldest() const { return turn_ % 4 == 1; }

  std::uint64_t last_since_ = 0;
  std::uint64_t turn_ = 1;
  absl::flat_hash_map<Bucket*, Place> places_;
  // Keyed by the number of parts, negated, and by Place::since.
  absl::btree_map<std::pair<std::int64_t, std::uint64_t>, Bucket*> by_parts_;
  absl::btree_map<std::uint64_t, Bucket*> by_age_;
  absl::btree_map<std::uint64_t, Bucket*> owed_;
};

template <class Bucket>
void WindowQueue<Bucket>::Put(Bucket& bucket, AwaitedWrite write) {
  const auto found = places_.find(&bucket);
  const Place place{.write = write,
                    .since = found == places_.end() ? ++last_since_ : found->second.since};
  Remove(bucket);
  by_parts_.emplace(std::pair(-write.parts, place.since), &bucket);
  by_age_.emplace(place.since, &bucket);
  if (write.is_owed) owed_.emplace(place.since, &bucket);
  places_.emplace(&bucket, place);
}

template <class Bucket>
void WindowQueue<Bucket>::Remove(Bucket& bucket) {
  const auto found = places_.find(&bucket);
  if (found == places_.end()) return;
  const Place& place = found->second;
  by_parts_.erase({-place.write.parts, place.since});
  by_age_.erase(place.since);
  owed_.erase(place.since);
  places_.erase(found);
}

template <class Bucket>
template <class Recount>
Bucket* WindowQueue<Bucket>::TakeNext(Recount recount, int& recounts_left) {
  if (is_empty()) return nullptr;
  Bucket* next = by_parts_.begin()->second;
  if (is_turn_of_owed()) {
    next = owed_.begin()->second;
  } else if (is_turn_of_oldest()) {
    next = by_age_.begin()->second;
  } else {
    for (; recounts_left > 0; --recounts_left) {
      const AwaitedWrite now = recount(*next);
      if (now.parts >= places_.at(next).write.parts) break;
      Put(*next, now);
      next = by_parts_.begin()->second;
    }
  }
  Remove(*next);
  return next;
}

}  // namespace weir::dynamo
