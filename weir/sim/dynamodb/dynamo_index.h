// A secondary index: its entries, and their delay behind the table.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/time.h"
#include "weir/sim/dynamodb/expression/dynamo_key.h"
#include "weir/sim/dynamodb/expression/dynamo_value.h"

namespace weir::sim {

struct IndexSpec {
  enum class Projection { kAll, kKeysOnly, kInclude };

  std::string name;
  KeyNames key;
  Projection projection = Projection::kAll;
  std::vector<std::string> included;  ///< for kInclude only
  bool local = false;                 ///< a local index is updated without delay
};

/// The position of an entry in an index, or of an item in its table, for which `key` and `item` are
/// equal.
struct Position {
  ItemKey key;
  ItemKey item;

  friend bool operator==(const Position&, const Position&) = default;
  friend auto operator<=>(const Position&, const Position&) = default;
};

/// The images of one item before and after a write; null if the item does not exist.
struct ItemImages {
  const Item* before = nullptr;
  const Item* after = nullptr;
};

/// Returns the entry of an item in an index, or nothing if the index does not contain the item.
/// `table_key` is the key of the index's table, and `image` is null if the item does not exist.
std::optional<Item> EntryOf(const IndexSpec& index, const KeyNames& table_key, const Item* image);

using Entries = std::map<Position, Item>;

/// Returns the units for writing `bytes`: one for each started 1024 bytes, at least one.
double WriteUnits(std::size_t bytes);

// Applies writes to its entries after a delay.
//
//   Write --> pending_ --(the lag has passed)--> entries_
class DynamoIndex {
 public:
  DynamoIndex(IndexSpec spec, KeyNames table_key)
      : spec_(std::move(spec)), table_key_(std::move(table_key)) {}

  const IndexSpec& spec() const { return spec_; }
  /// Queues the change of one item. The entries show it `lag` later, and never before earlier
  /// changes of the same item; a local index shows it at once. Returns the cost in write units.
  double Write(const ItemKey& item, ItemImages images, Instant now, nanoseconds lag);
  // Applies the changes that are visible at `now` and returns the entries.
  const Entries& EntriesAt(Instant now);
  /// Returns whether a written entry of this partition is not visible yet. Call it after EntriesAt.
  bool IsLate(const KeyPart& partition) const;

 private:
  struct Change {
    ItemKey item;
    std::optional<Item> entry;
    Instant visible;
  };

  IndexSpec spec_;
  KeyNames table_key_;
  Entries entries_;
  std::map<ItemKey, Position> positions_;
  std::deque<Change> pending_;
};

}  // namespace weir::sim
