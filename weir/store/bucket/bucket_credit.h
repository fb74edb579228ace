// Credits that an operator gives to a bucket: a reset or a top-up. They work on every backend and
// are audited.
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
    kReset,  ///< fills the named limits; without names: all limits
    kTopUp,  ///< adds the given tokens to each named limit, up to its capacity
  };
  Kind kind = Kind::kReset;
  std::string entity;
  std::string resource;
  /// Each limit at most once. A reset ignores the tokens.
  std::vector<CreditAmount> amounts{};
  /// The author of the credit, for the audit log.
  std::optional<std::string> principal{};
};

/// The result for one limit, over all shards of its bucket. Millitokens.
struct CreditedLimit {
  std::string limit;
  std::int64_t added = 0;
  /// The balance after the credit, if no other request changed the bucket in between.
  std::int64_t tokens = 0;

  friend bool operator==(const CreditedLimit&, const CreditedLimit&) = default;
};

struct CreditSources {
  UnixMillis at;  ///< the time of the audit event
  /// For the event's id and the ids of the adjusts. It must differ between calls.
  std::uint64_t seed = 0;
};

/// Gives the credit by BucketStore::Adjust, so no concurrent update is lost, and tokens that other
/// requests take in the meantime stay taken. The credit counts as returned (Meter::consumed). Then
/// an event `bucket_reset` or `bucket_topped_up` is appended, unless no tokens were missing. The
/// result lists every limit that the credit concerns. A bucket that does not exist is full, and its
/// result is empty.
///
/// Fails with kInvalidArgument, without a change, if the bucket does not have a named limit, if a
/// limit is named twice, or if a top-up is empty or not positive. After any other error, a part of
/// the credit may have been given; the message says so if only the event is missing. `done` runs
/// once. `backend` must outlive the call.
void Credit(Backend& backend, BucketCredit credit, const CreditSources& sources, Deadline deadline,
            Done<std::vector<CreditedLimit>> done);

}  // namespace weir
