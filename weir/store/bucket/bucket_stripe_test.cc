#include "weir/store/bucket/bucket_stripe.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <string>

namespace weir {
namespace {

constexpr UnixMillis kStripeStart{1'767'225'600'013};

std::set<BucketKey> LinkedTo(BucketStripe& stripe, const std::string& entity) {
  std::set<BucketKey> keys;
  const BucketEntry* entry = stripe.FirstOf(entity);
  for (; entry != nullptr; entry = entry->next_of_entity) keys.insert(entry->key());
  return keys;
}

std::set<BucketKey> ScannedFor(const BucketStripe& stripe, const std::string& entity) {
  std::set<BucketKey> keys;
  for (const auto& entry : stripe.entries) {
    if (entry->key().entity == entity) keys.insert(entry->key());
  }
  return keys;
}

// C16: the buckets of an entity are found without a scan of all buckets. Fails if: a removed entry
// stays linked, or the entries linked after it are lost.
RC_GTEST_PROP(BucketStripe, C16FindsTheBucketsOfAnEntity, ()) {
  BucketStripe stripe;
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 60));
  for (const int step : steps) {
    const BucketKey key{"entity-" + std::to_string(step % 3), "gpt-" + std::to_string(step % 5), 0};
    if (BucketEntry* entry = stripe.Find({key, HashOf(key)})) {
      stripe.Remove(*entry);
    } else {
      const TargetPtr target = MakeTarget(key, {{"rpm", PerSecond(1)}});
      stripe.Add(NewBucketState(target, kStripeStart));
    }
    for (int i = 0; i < 3; ++i) {
      const std::string entity = "entity-" + std::to_string(i);
      RC_ASSERT(LinkedTo(stripe, entity) == ScannedFor(stripe, entity));
    }
  }
}

}  // namespace
}  // namespace weir
