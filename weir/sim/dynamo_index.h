// A secondary index: what it holds of the items, and how late.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/time.h"
#include "weir/sim/dynamo_key.h"
#include "weir/sim/dynamo_value.h"

namespace weir::sim {

struct IndexSpec {
  enum class Projection { kAll, kKeysOnly, kInclude };

  std::string name;
  KeyNames key;
  Projection projection = Projection::kAll;
  std::vector<std::string> included;  ///< of kInclude
  bool local = false;                 ///< never late
};

/// Where something stands in an index, or in its table: there `key` and `item` are the same.
struct Position {
  ItemKey key;
  ItemKey item;

  friend bool operator==(const Position&, const Position&) = default;
  friend auto operator<=>(const Position&, const Position&) = default;
};

/// Of one item around a write; null: it was not there, or is gone.
struct Images {
  const Item* before = nullptr;
  const Item* after = nullptr;
};

using Entries = std::map<Position, Item>;

/// Units for writing so many bytes: one for each begun 1024, at least one.
double WriteUnits(std::size_t bytes);

class DynamoIndex {
 public:
  DynamoIndex(IndexSpec spec, KeyNames table_key)
      : spec_(std::move(spec)), table_key_(std::move(table_key)) {}

  const IndexSpec& spec() const { return spec_; }
  /// The entries show the change after `lag`, changes of one item in their order. Returns what it
  /// costs in write units. A local index is never late.
  double Write(const ItemKey& item, Images images, Instant now, nanoseconds lag);
  const Entries& EntriesAt(Instant now);
  /// After EntriesAt: an entry of this partition was written and is not shown yet.
  bool IsLate(const KeyPart& partition) const;

 private:
  struct Change {
    ItemKey item;
    std::optional<Item> entry;
    Instant visible;
  };

  std::optional<Item> EntryOf(const Item* image) const;

  IndexSpec spec_;
  KeyNames table_key_;
  Entries entries_;
  std::map<ItemKey, Position> positions_;
  std::deque<Change> pending_;
};

}  // namespace weir::sim
