// What one write on one bucket must say so that it is exact whatever others do meanwhile.
// Mechanism and proof: docs/design/acquire.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/dynamo/bucket_image.h"
#include "weir/dynamo/fence_slots.h"
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

/// What one write is asked to do on one bucket: the sums of the parts that it carries.
struct BucketRequest {
  const Target& target;
  std::span<const MeterAmounts> sums;  ///< by limit of the target
  /// The sums are adjusts only: no parameters are stored, and no limit becomes a configured one.
  bool adjusts = false;
  Quota writes = WriteQuota();  ///< of an item that is created
  /// Writes on the item whose conditions failed and that no other write has debited. They consume
  /// as many units as one that passes.
  int failed_writes = 0;
  /// Others have most likely refilled the bucket since it was seen: the stored balance is tried
  /// before rf is moved, although the image has too little.
  bool expects_refill = false;
  const WriteFence::Guard* guard = nullptr;  ///< null: the write is not fenced

  /// The target's limits are to be the configured ones of the bucket.
  bool configures() const { return !adjusts && target.source == LimitSource::kConfigured; }
  bool is_nothing() const { return std::ranges::all_of(sums, &MeterAmounts::is_nothing); }
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
  /// Nothing to write: the bucket does not exist, so it is full, and would stay so.
  bool settled = false;
  bool moves_rf = false;     ///< the write requires the `rf` that was seen, or creates the item
  bool conforms = true;      ///< it changes no parameters, and no limit joins or leaves
  milliseconds set_back{0};  ///< how far ahead of the service's time `rf` is, if it sets that back
  /// One write, or for a bucket that does not exist two that belong in one transaction: the item,
  /// and the check that its owner is as it was read.
  std::vector<Write> writes;
};

/// How many limits one item holds. Configured ones always fit; the others stay within it.
inline constexpr std::size_t kMostMeters = 20;

/// Plans the write on a bucket that was seen as `image`. The caller has judged the takes. With
/// nothing in the sums it stores parameters (if these differ) and moves rf. kOutOfRange: it would
/// leave more debt than kMaxDebt. kFailedPrecondition: an override needs a limit of its own, and
/// all kMostMeters of the item are configured, asked for or in debt.
[[nodiscard]] Result<BucketPlan> PlanWrite(const Keys& keys, const BucketImage& image,
                                           const BucketRequest& request, UnixMillis now);

/// The write that changes nothing but the slot of its guard, and so settles earlier ones.
Write PlanProbe(const Keys& keys, const BucketKey& key, const WriteFence::Guard& guard);

/// How long a token that was recorded counts once in the table. DynamoDB deletes the record some
/// time after that.
inline constexpr milliseconds kTokenRecordLife{900'000};
/// The write that records a token beside the bucket's item, on condition that it is not recorded.
Write PlanTokenRecord(const Keys& keys, const BucketKey& key, AdjustId token, UnixMillis now);

/// Plans the creation of a bucket that does not exist, and so is full.
[[nodiscard]] Result<BucketPlan> PlanCreate(const Keys& keys, const Owner& owner,
                                            const BucketRequest& request, UnixMillis now);

}  // namespace weir::dynamo
