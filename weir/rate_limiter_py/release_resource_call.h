// One ReleaseResource in rate-limiter-py's non-fungible table: a protocol without I/O. First a
// tombstone remembers the end for those that are bound later. Then the index tells where slots of
// the thing may be; each is read and released for itself.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "weir/rate_limiter_py/slot_call.h"

namespace weir::rate_limiter_py {

/// Begin once; then each step is answered by one event.
class ReleaseResourceCall {
 public:
  using Answer = std::size_t;
  using Step = SlotStep<std::size_t, dynamo::QueryRequest, Reads, Transaction>;

  /// `index`: of resource ids.
  ReleaseResourceCall(EndedResource ended, std::string index, UnixMillis now);

  Step Begin();
  Step OnQuery(dynamo::QueryAnswer page);
  Step OnRead(const Items& items) { return Released(release_->OnRead(items)); }
  Step OnWrite(const WriteOutcome& outcome, UnixMillis now);

 private:
  Step Released(ReleaseCall::Step step);
  Step Next();
  Step Remember(const std::optional<dynamo::Item>& there);

  EndedResource ended_;
  UnixMillis now_;
  dynamo::QueryRequest query_{};
  std::vector<dynamo::TableKey> places_{};  // of the page, to be released
  std::optional<ReleaseCall> release_{};    // under way
  std::size_t released_ = 0;
  int rounds_ = 0;  // of remembering
};

}  // namespace weir::rate_limiter_py
