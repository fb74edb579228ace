// The latest change of each bucket in a log of changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weir/embedded/bucket_reader.h"
#include "weir/store/charge.h"

namespace weir {

/// A BucketKey that owns nothing.
struct KeyView {
  std::string_view entity;
  std::string_view resource;
  std::uint32_t shard = 0;

  static KeyView Of(const BucketKey& key) { return {key.entity, key.resource, key.shard}; }
  static KeyView Of(const KeyView& key) { return key; }
  friend bool operator==(const KeyView&, const KeyView&) = default;
};

struct LatestChange {
  std::optional<std::int64_t> time;  ///< none: the bucket was removed
  std::string limits;                ///< JSON
  std::string extras;                ///< JSON; empty if there are none
  bool is_readable = true;  ///< else the rest is that of an earlier change, if there is one
  std::size_t order = 0;    ///< among all changes of the log
};

/// Changes that do not read are added too: what they override is not the latest state of a bucket.
/// Not thread-safe.
class ChangeIndex {
 public:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const auto& key) const { return Mix(KeyView::Of(key)); }
    static std::size_t Mix(const KeyView& key);
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const { return KeyView::Of(a) == KeyView::Of(b); }
  };
  using Map = std::unordered_map<BucketKey, LatestChange, Hash, Equal>;

  /// Overrides what was added for the same bucket.
  void Add(const Change& change);
  void Add(const DamagedChange& change);
  /// Whether an unreadable change without a readable key, later than all that was added for this
  /// bucket, may be one of it: its line differs from one of this bucket in at most one byte, as far
  /// as it goes.
  bool MayBeOverridden(const BucketKey& key) const;
  bool Contains(const KeyView& key) const { return map_.contains(key); }
  const Map& map() const { return map_; }

 private:
  struct UnknownChange {
    std::string line;  // its beginning
    std::size_t order;
  };

  LatestChange& At(const KeyView& key);

  Map map_;
  std::vector<UnknownChange> unknown_;  // the first of them
  std::size_t order_ = 0;
};

}  // namespace weir
