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
  /// The parts that the write would carry at most, without takes whose callers have too little
  /// time left.
  std::int64_t parts = 0;
  /// The write has a part that must be written even if no caller waits (a correction, a return),
  /// stores limits, or settles a write in doubt.
  bool is_owed = false;
};

/// The buckets that wait for room in the window. All writes cost the table the same, so the bucket
/// with the most parts is next; among equal ones, the bucket that has waited longest. But every
/// second turn belongs to buckets with an owed write, and every fourth to the bucket that has
/// waited longest, so that buckets with few callers are served, too. `Bucket` is compared by
/// address. Not thread-safe.
template <class Bucket>
class WindowQueue {
 public:
  /// Adds the bucket. If it waits already, replaces its write; the bucket then keeps its place.
  void Put(Bucket& bucket, AwaitedWrite write);
  /// Does nothing if the bucket does not wait.
  void Remove(Bucket& bucket);
  /// Removes and returns the next bucket; null if none waits. While a bucket waits, the time of its
  /// callers runs out, so `recount(bucket)` returns its write as it is now: a bucket that has fewer
  /// parts than it had when it was put is not taken for its parts before buckets that have more.
  template <class Recount>
  Bucket* TakeNext(Recount recount);
  bool is_empty() const { return places_.empty(); }

 private:
  // The bound on the time of one turn.
  static constexpr int kMaxRecounts = 256;

  struct Place {
    AwaitedWrite write;
    std::uint64_t since = 0;  // ascending in the order in which buckets began to wait
  };
  Bucket& Next() const;

  std::uint64_t last_since_ = 0;
  std::uint64_t turns_ = 0;
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
Bucket& WindowQueue<Bucket>::Next() const {
  if (turns_ % 2 == 0 && !owed_.empty()) return *owed_.begin()->second;
  if (turns_ % 4 == 1) return *by_age_.begin()->second;
  return *by_parts_.begin()->second;
}

template <class Bucket>
template <class Recount>
Bucket* WindowQueue<Bucket>::TakeNext(Recount recount) {
  if (is_empty()) return nullptr;
  ++turns_;
  Bucket* next = &Next();
  for (int recounts = 0; recounts < kMaxRecounts; ++recounts) {
    const AwaitedWrite now = recount(*next);
    if (now.parts >= places_.at(next).write.parts) break;
    Put(*next, now);
    next = &Next();
  }
  Remove(*next);
  return next;
}

}  // namespace weir::dynamo
