// Credits that an operator gives to a bucket: a reset or a top-up. They work on every backend and
// are audited.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/api.h"
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
  /// The issuer of the credit, for the audit log.
  std::optional<std::string> principal{};
};

/// The result for one limit, summed over all shards of the bucket, in millitokens.
struct CreditedLimit {
  std::string limit;
  std::int64_t added = 0;  ///< millitokens that were credited
  /// The balance in millitokens after the credit, if no other request changed the bucket meanwhile.
  std::int64_t tokens = 0;

  friend bool operator==(const CreditedLimit&, const CreditedLimit&) = default;
};

/// What the audit event and its id are made of.
struct CreditStamp {
  UnixMillis at;  ///< the time of the audit event
  /// Seeds the ids of the event and of the calls of BucketStore::Adjust. It must differ between
  /// credits.
  std::uint64_t seed = 0;
};

/// Gives the credit through BucketStore::Adjust, so no concurrent update is lost, and tokens that
/// other requests take in the meantime stay taken. The credit is subtracted from Meter::consumed,
/// like tokens that a caller returns. If any tokens were credited, an event `bucket_reset` or
/// `bucket_topped_up` is then appended. The result lists every limit that the credit concerns. A
/// bucket that does not exist counts as full: nothing is credited, and the result is empty.
///
/// Fails without a change with kInvalidArgument if the bucket does not have a named limit, a limit
/// is named twice, a top-up names no limit, or an amount of a top-up is not positive; and with
/// kFailedPrecondition if a stored shard of the bucket is unreadable. After any other error, a part
/// of the credit may have been given; if only the event is missing, the message says so. `done`
/// runs once. `backend` must outlive the call.
WEIR_API void Credit(Backend& backend, BucketCredit credit, const CreditStamp& stamp,
                     Deadline deadline, Done<std::vector<CreditedLimit>> done);

}  // namespace weir
