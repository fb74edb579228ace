// The latest change of each bucket in a log of changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "weir/embedded/bucket_codec.h"
#include "weir/store/charge.h"

namespace weir {

/// A BucketKey that owns nothing.
struct KeyView {
  std::string_view entity;
  std::string_view resource;
  std::uint32_t shard = 0;

  friend auto operator<=>(const KeyView&, const KeyView&) = default;
};

struct LatestChange {
  std::optional<std::int64_t> time;  ///< none: the bucket was removed
  std::string limits;                ///< JSON
};

/// Not thread-safe.
class ChangeIndex {
 public:
  struct Less {
    using is_transparent = void;
    static KeyView View(const BucketKey& key) { return {key.entity, key.resource, key.shard}; }
    static KeyView View(const KeyView& key) { return key; }
    bool operator()(const auto& a, const auto& b) const { return View(a) < View(b); }
  };
  using Map = std::map<BucketKey, LatestChange, Less>;

  /// Overrides what was added for the same bucket.
  void Add(const Change& change);
  bool Contains(const KeyView& key) const { return map_.contains(key); }
  const Map& map() const { return map_; }

 private:
  Map map_;
};

}  // namespace weir
