// Indexes the latest change of each bucket in a log of changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weir/bucket/key_hash.h"
#include "weir/embedded/rows/bucket_reader.h"
#include "weir/store/bucket/charge.h"

namespace weir {

/// A BucketKey that does not own its strings.
struct BucketKeyView {
  std::string_view entity;
  std::string_view resource;
  std::uint32_t shard = 0;

  static BucketKeyView Of(const BucketKey& key) { return {key.entity, key.resource, key.shard}; }
  static BucketKeyView Of(const BucketKeyView& key) { return key; }
  friend bool operator==(const BucketKeyView&, const BucketKeyView&) = default;
};

struct LatestChange {
  std::optional<std::int64_t> time;  ///< nothing if the bucket was removed
  std::string limits;                ///< JSON
  std::string extras;                ///< JSON; empty if there are none
  std::string use;                   ///< JSON; empty if there is none
  /// If false, the fields above are those of an earlier change, if there is one.
  bool is_readable = true;
  std::size_t order = 0;  ///< number of the change in the log
};

/// Changes must be added in the order of the log, unreadable ones too: an unreadable change
/// overrides the earlier changes of its bucket. Not thread-safe.
class ChangeIndex {
 public:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const auto& key) const { return HashView(BucketKeyView::Of(key)); }
    static std::size_t HashView(const BucketKeyView& key) {
      return HashNames(key.entity, key.resource, key.shard);
    }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const {
      return BucketKeyView::Of(a) == BucketKeyView::Of(b);
    }
  };
  using Map = std::unordered_map<BucketKey, LatestChange, Hash, Equal>;

  /// Overrides earlier changes of the same bucket.
  void Add(const Change& change);
  void Add(const DamagedChange& change);
  /// Returns true if a change with an unreadable key was added after all changes of this bucket,
  /// and may be a change of this bucket: the beginning of its line differs from the bucket's key
  /// text in at most one byte.
  bool MayBeOverridden(const BucketKey& key) const;
  bool Contains(const BucketKeyView& key) const { return map_.contains(key); }
  const Map& map() const { return map_; }

 private:
  struct UnknownChange {
    std::string line;  // the beginning of the stored text
    std::size_t order;
  };

  /// Returns the entry of the bucket, and creates it if there is none.
  LatestChange& At(const BucketKeyView& key);

  Map map_;
  std::vector<UnknownChange> keyless_changes_;  // the first kMaxUnknown of them
  std::size_t order_ = 0;
};

}  // namespace weir
