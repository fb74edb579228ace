// Finds the entries of a PutRecords body without a full parse.
#pragma once

#include <string_view>
#include <vector>

#include "weir/kinesis/wire/hash_key.h"

namespace weir::bench {

/// An entry, as views into the body. `data` is Base64 in JSON and bytes in CBOR.
struct Entry {
  std::string_view partition_key;
  std::string_view hash_key;  ///< decimal; empty if the entry has none
  std::string_view data;
};

/// Find the entries in order. They support only the bodies that producers write: they return false
/// if a key has an escape, or for any other body.
bool FindJsonEntries(std::string_view body, std::vector<Entry>& entries);
bool FindCborEntries(std::string_view body, std::vector<Entry>& entries);

/// The stream's shards are equal parts of the hash space.
inline constexpr int kShards = 4;
kinesis::HashRange RangeOf(int shard);
/// Returns the shard of the entry; negative if its hash key is invalid.
int ShardOf(const Entry& entry);

}  // namespace weir::bench
