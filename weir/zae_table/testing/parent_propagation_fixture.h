// Buckets that get a copy of their owner's record. For tests only.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/zae_table/testing/config_fixture.h"

namespace weir::dynamo {

inline EntityRecord Acme(std::optional<std::string> parent, bool cascade = true) {
  return {
      .entity = {.id = "acme", .name = "name", .parent = std::move(parent), .cascade = cascade}};
}

/// Returns a bucket that Weir refuses, with attributes that no client knows.
inline Item Strange() {
  return {{"b_rpm_tk", Of(1'000)},
          {"b_rpm_cp", Of(2'000)},
          {"b_rpm_sched", Of("1h9-17w1-5s500")},
          {"disabled", Of(true)},
          {"ttl", Of(4'000'000'000)},
          {"vu", Of(7)},
          {"somebody_elses", {List{Of("kept"), Of(3)}}}};
}

/// A table with buckets that clients of zae-limiter created.
struct Shared : ConfigRig {
  TableKey PutBucket(const BucketKey& bucket, Item attributes = Strange()) {
    attributes.merge(keys.BucketIndexes(bucket));
    Put(keys.Bucket(bucket), std::move(attributes));
    return keys.Bucket(bucket);
  }

  /// Stores three shards of each of these resources.
  std::vector<TableKey> PutBuckets(const std::string& entity, std::vector<std::string> resources) {
    std::vector<TableKey> put;
    for (const std::string& resource : resources) {
      for (std::uint32_t shard = 0; shard < 3; ++shard) {
        put.push_back(PutBucket({entity, resource, shard}));
      }
    }
    return put;
  }

  /// Returns the attributes that buckets of acme should get: by the present record of acme, if no
  /// level sets cascade.
  Item Stamp() {
    const Item meta = At(keys.Entity("acme"));
    Item stamp = {{"pgen", meta.at("pgen")}, {"pinc", meta.at("pinc")}};
    const std::string* parent = GetText(meta, "parent_id");
    if (parent != nullptr) stamp.emplace("parent_id", Of(*parent));
    stamp.emplace("cascade", Of(parent != nullptr && GetFlag(meta, "cascade") == true));
    return stamp;
  }

  static Item StampIn(const Item& item) {
    Item stamp;
    for (const char* name : {"cascade", "parent_id", "pgen", "pinc"}) {
      if (const auto found = item.find(name); found != item.end()) stamp.insert(*found);
    }
    return stamp;
  }
  Item StampOf(const TableKey& bucket) { return StampIn(At(bucket)); }

  bool AllPropagated(const std::vector<TableKey>& buckets) {
    return std::ranges::all_of(buckets,
                               [&](const TableKey& bucket) { return StampOf(bucket) == Stamp(); });
  }
};

}  // namespace weir::dynamo
