// An operator's gifts to a bucket: a reset and a top-up, on every backend, audited.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/done.h"
#include "weir/runtime/deadline.h"
#include "weir/store/backend.h"

namespace weir {

struct CreditAmount {
  std::string limit;
  std::int64_t millitokens = 0;
};

struct BucketCredit {
  enum class Kind {
    kReset,  ///< the limits that are named become full; no names: all limits
    kTopUp,  ///< each limit that is named gets its tokens, up to its capacity
  };
  Kind kind = Kind::kReset;
  std::string entity;
  std::string resource;
  std::vector<CreditAmount> amounts{};     ///< names once each; a reset does not look at the tokens
  std::optional<std::string> principal{};  ///< who asks, for the audit log
};

/// What one limit got, over all shards of its bucket. Millitokens.
struct CreditedLimit {
  std::string limit;
  std::int64_t added = 0;
  std::int64_t tokens = 0;  ///< what it has now, unless other requests came between

  friend bool operator==(const CreditedLimit&, const CreditedLimit&) = default;
};

struct CreditSources {
  UnixMillis at;           ///< stamps the audit event
  std::uint64_t seed = 0;  ///< must differ between calls: of the event's id and of adjust tokens
};

/// Gives what the credit says, by BucketStore::Adjust: no update of other requests is lost, and
/// what they take meanwhile stays taken. It counts as returned (Meter::consumed). Then an event
/// `bucket_reset` or `bucket_topped_up` is appended; if nothing was missing, there is none. The
/// answer names every limit that the credit concerns; a bucket that does not exist is full, and its
/// answer is empty.
///
/// kInvalidArgument, and nothing is changed: a limit that the bucket does not have, one that is
/// named twice, a top-up that is empty or not positive. Any other error may leave a part given, and
/// says so if only the event is missing. `backend` must outlive the call.
void Credit(Backend& backend, BucketCredit credit, const CreditSources& sources, Deadline deadline,
            Done<std::vector<CreditedLimit>> done);

}  // namespace weir
