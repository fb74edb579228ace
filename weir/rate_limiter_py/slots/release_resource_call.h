// One ReleaseResource in rate-limiter-py's non-fungible table: a protocol without I/O.
//
//   Begin --> RememberEnd --> query of the index --OnQuery--> ReleaseNext --> ReleaseCall
//                                ^                              |    ^             |
//                                +--------(next page)-----------+    +-OnReleaseStep
//                                              (no more pages)--+--> done
//
// First a tombstone records the end of the resource, for bindings that come later. (Begin skips
// RememberEnd if the tombstone would have expired.) Then the index returns the keys of slots that
// may be bound to the resource; each of these slots is read and released separately.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "weir/rate_limiter_py/slots/slot_call.h"

namespace weir::rate_limiter_py {

/// Call Begin once; then exactly one event follows each step.
class ReleaseResourceCall {
 public:
  using Value = std::size_t;
  using Step = SlotStep<std::size_t, dynamo::QueryRequest, Reads, Transaction>;

  /// `index` is the index of resource ids.
  ReleaseResourceCall(EndedResource ended, std::string index, UnixMillis now);

  Step Begin();
  Step OnQuery(dynamo::QueryResponse page);
  Step OnRead(const Items& items) { return OnReleaseStep(release_->OnRead(items)); }
  Step OnWrite(const WriteOutcome& outcome, UnixMillis now);

 private:
  /// Carries out a step of the release of one slot.
  Step OnReleaseStep(ReleaseCall::Step step);
  /// Begins the release of the next slot, or reads the next page.
  Step ReleaseNext();
  /// Writes the tombstone. `existing` is the present tombstone.
  Step RememberEnd(const std::optional<dynamo::Item>& existing);

  EndedResource ended_;
  UnixMillis now_;
  dynamo::QueryRequest query_{};
  std::vector<dynamo::TableKey> pending_keys_{};  // slots of the page that have not been released
  std::optional<ReleaseCall> release_{};          // the release in progress
  std::size_t released_ = 0;
  int rounds_ = 0;  // attempts to write the tombstone
};

}  // namespace weir::rate_limiter_py
