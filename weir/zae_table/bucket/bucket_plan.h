// Plans one conditional write on one bucket, so that it is exact whatever other processes write
// between the image and the write. Mechanism and proof: docs/design/acquire.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/dynamodb/table.h"
#include "weir/store/bucket/charge.h"
#include "weir/zae_table/actor/fence_slots.h"
#include "weir/zae_table/bucket/bucket_image.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

/// The effect of one write on one limit, in millitokens; none is negative. The write has the effect
/// of the returns, then the takes, then the debits, at one instant. The amounts are never netted: a
/// return that the capacity cuts off must not pay for a take or a debit.
struct MeterAmounts {
  std::int64_t takes = 0;    ///< taken only if the limit has all of them after the returns
  std::int64_t debits = 0;   ///< upward corrections; they may leave debt
  std::int64_t returns = 0;  ///< given back, up to the capacity

  std::int64_t used() const { return takes + debits; }
  /// The change of the consumption counter `tc`.
  std::int64_t net() const { return used() - returns; }
  bool is_nothing() const { return takes == 0 && debits == 0 && returns == 0; }
};

/// The work of one write on one bucket: the sums of the parts that it carries.
struct BucketRequest {
  const Target& target;
  std::span<const MeterAmounts> sums;  ///< by limit of the target
  /// The sums consist of adjusts and returns only: the write stores no parameters, and makes no
  /// limit a configured one.
  bool adjusts = false;
  Quota writes = WriteQuota();  ///< the quota of `wcu` in an item that is created
  /// Writes on the item whose conditions failed and that no later write has debited from `wcu` yet.
  /// They consume as many write units as writes that pass.
  int failed_writes = 0;
  /// Other processes have most likely refilled the bucket since the image: the write relies on the
  /// stored balance and does not move rf, although the balance in the image is too low.
  bool expects_refill = false;
  /// The write is applied to the item as it is in the image, or not at all. So its adjusts count as
  /// if they had been made when the image was seen, however late the write is applied.
  bool needs_image = false;
  const WriteFence::Guard* guard = nullptr;  ///< null: the write is not fenced

  /// Returns true if the target's limits become the configured ones of the bucket.
  bool configures() const { return !adjusts && target.source == LimitSource::kConfigured; }
  bool is_nothing() const { return std::ranges::all_of(sums, &MeterAmounts::is_nothing); }
};

/// The attributes of an entity's record that its buckets copy, or depend on.
struct Owner {
  bool exists = false;
  bool cascade = false;
  std::optional<std::string> parent;
  std::int64_t generation = 0;             ///< attribute pgen; 0: absent
  std::optional<std::string> incarnation;  ///< attribute pinc
  std::optional<std::string> created_at;
};
/// Returns the owner from the entity's record; `exists` is false if there is no record.
Owner ReadOwner(const std::optional<Item>& meta);
/// Adds the five attributes of one limit: the quota of the whole bucket, and the millitokens that
/// this shard has (`tokens`) and has consumed (`used`).
void AddMeter(Item& item, std::string_view name, const Quota& quota, std::int64_t tokens,
              std::int64_t used = 0);
/// Adds the condition that the bucket has as many shards as in the image.
void RequireShards(Expression& expression, const BucketImage& image);
/// Returns the check that the owner's record is as it was read.
Write OwnerCheck(const Keys& keys, const Owner& owner, std::string_view entity);

struct BucketPlan {
  /// No write is needed: the bucket does not exist, so it is full, and would stay full.
  bool settled = false;
  bool moves_rf = false;  ///< the write sets `rf`, and requires that of the image or no item
  /// The write changes no parameters and no limit joins, becomes configured, or becomes an extra.
  bool conforms = true;
  milliseconds set_back{0};  ///< if it sets `rf` back: how far `rf` was ahead of bucket time
  /// One write; or two actions of one transaction that creates the item: the put, and the check
  /// that the owner's record is as it was read.
  std::vector<Write> writes;
};

/// The greatest number of limits in one item. Configured limits and those of adjusts always fit; an
/// override's limit joins only within this number.
inline constexpr std::size_t kMaxMeters = 20;

/// Plans the write of `request` on an item whose latest image is `image`, at the bucket time `now`.
/// The caller has judged the takes. If the sums are 0 the write moves rf, and stores parameters
/// that differ. kOutOfRange: the write would leave more debt than kMaxDebt. kFailedPrecondition: an
/// override needs a limit of its own, and all kMaxMeters limits of the item are configured, named
/// by the request or in debt.
[[nodiscard]] Result<BucketPlan> PlanWrite(const Keys& keys, const BucketImage& image,
                                           const BucketRequest& request, UnixMillis now);

/// Returns a write that changes only the slot of its guard, and so settles earlier writes.
Write PlanProbe(const Keys& keys, const BucketKey& key, const WriteFence::Guard& guard);

/// How long the table remembers the id of a recorded adjust. DynamoDB deletes the record some time
/// after that.
inline constexpr milliseconds kAdjustRecordLife{900'000};
/// Returns the put of the record of an adjust, in the partition of the bucket's item, on the
/// condition that the adjust is not recorded.
Write PlanAdjustRecord(const Keys& keys, const BucketKey& key, AdjustId adjust_id, UnixMillis now);

/// Plans the creation of a bucket that does not exist, and so is full. Errors as PlanWrite.
[[nodiscard]] Result<BucketPlan> PlanCreate(const Keys& keys, const Owner& owner,
                                            const BucketRequest& request, UnixMillis now);

}  // namespace weir::dynamo
