// What one write on one bucket must say so that it is exact whatever others do meanwhile.
// Mechanism and proof: docs/design/acquire.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/dynamo/bucket_image.h"
#include "weir/dynamo/keys.h"
#include "weir/dynamo/table.h"
#include "weir/store/charge.h"

namespace weir::dynamo {

/// What one write does to one limit, in millitokens; none is negative. The write counts as the
/// returns, then the takes, then the debits, one after the other at one instant. They are never
/// netted: a return that the capacity cuts off must not pay for a take, nor a debit for a return.
struct MeterAmounts {
  std::int64_t takes = 0;    ///< only if the limit has all of them after the returns
  std::int64_t debits = 0;   ///< corrections upwards; they may leave debt
  std::int64_t returns = 0;  ///< they stop at the capacity

  std::int64_t used() const { return takes + debits; }
  /// By how much the limit was used more afterwards.
  std::int64_t net() const { return used() - returns; }
  bool is_nothing() const { return takes == 0 && debits == 0 && returns == 0; }
};

/// What is asked of one bucket: to take, only if everything is there; or, with a token, to adjust
/// by signed amounts, once, whatever is there.
struct BucketRequest {
  const Charge& charge;
  std::optional<AdjustToken> token;
  Quota writes = WriteQuota();  ///< of an item that is created
  /// Writes on the item whose conditions failed and that no other write has debited. They consume
  /// as many units as one that passes.
  int failed_writes = 0;
  /// If not empty: one write for several requests with the charge's target, whose sums these are,
  /// by limit. The charge's amounts do not count, and there is no token. Refused if the image
  /// cannot pay all takes.
  std::span<const MeterAmounts> sums{};
};

/// What an entity's own record says, as its buckets keep it.
struct Owner {
  bool exists = false;
  bool cascade = false;
  std::optional<std::string> parent;
  std::int64_t generation = 0;             ///< attribute pgen; 0: absent
  std::optional<std::string> incarnation;  ///< attribute pinc
  std::optional<std::string> created_at;
};
Owner ReadOwner(const std::optional<Item>& meta);
/// The five attributes of one limit: the whole bucket's quota, and what this shard has.
void AddMeter(Item& item, std::string_view name, const Quota& quota, std::int64_t tokens,
              std::int64_t used = 0);
/// That the bucket is divided as it was seen.
void RequireShards(Expression& expression, const BucketImage& image);
/// That the owner's record is as it was read.
Write OwnerCheck(const Keys& keys, const Owner& owner, std::string_view entity);

struct BucketPlan {
  /// How the limits stand before it, in the order of the charge's target; empty for an adjust.
  std::vector<LimitStatus> statuses;
  milliseconds retry_after{0};  ///< over 0: refused, and there is nothing to write
  /// Nothing to write: the adjust was counted before, or no amount is other than 0.
  bool settled = false;
  /// The writes exclude others: they move `rf` or `ttl` from the value that was seen, or create the
  /// item.
  bool exclusive = false;
  /// One write, or for a bucket that does not exist two that belong in one transaction: the item,
  /// and the check that its owner is as it was read.
  std::vector<Write> writes;
};

/// How many limits one item holds. Configured ones always fit; the others stay within it.
inline constexpr std::size_t kMostMeters = 20;

/// Plans the write on a bucket that was seen as `image`. kOutOfRange: an adjust would leave more
/// debt than kMaxDebt. kFailedPrecondition: an override needs a limit of its own, and all
/// kMostMeters of the item are configured, asked for or in debt.
[[nodiscard]] Result<BucketPlan> PlanWrite(const Keys& keys, const BucketImage& image,
                                           const BucketRequest& request, UnixMillis now);

/// For a take that is refused on any of its buckets: the write that stores the configured limits of
/// this one and takes no tokens, so that it refills as the wait assumes. Nothing if these limits
/// are stored already, or if the request is an override or a look.
std::optional<Write> PlanRepair(const Keys& keys, const BucketImage& image,
                                const BucketRequest& request, UnixMillis now);

/// How long a take must wait until this shard can pay, by its image. REQUIRES: no amount is over
/// the shard's part of the capacity.
milliseconds WaitFor(const BucketImage& image, const Charge& charge, UnixMillis now);

/// Plans the creation of a bucket that does not exist, and so is full.
[[nodiscard]] Result<BucketPlan> PlanCreate(const Keys& keys, const Owner& owner,
                                            const BucketRequest& request, UnixMillis now);

}  // namespace weir::dynamo
