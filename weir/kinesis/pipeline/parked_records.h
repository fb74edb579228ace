// Decides about a record that a shard has stored, and parks it while the range of that shard is not
// known: then it is not known either whether consumers deliver the record.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weir/aws/failure.h"
#include "weir/kinesis/shards/shard_map.h"
#include "weir/kinesis/wire/record.h"

namespace weir::kinesis {

/// A Kinesis record that the service has stored.
struct ParkedRecord {
  KinesisRecord record;
  Attempt attempt;  ///< with the shard, if the service named one
  std::string sequence_number;
  int listings = 0;  ///< number of listings since then that did not return the range
};

struct StoredDecision {
  enum class Next {
    kReport,     ///< report it as stored
    kSendAgain,  ///< consumers drop it, or may do so
    kPark,       ///< decide again after the next listing
  };
  Next next = Next::kReport;
  /// If it is sent again: the class of its attempt's failure, and the reason.
  FailureClass kind = FailureClass::kTransient;
  std::string message{};
  std::optional<Instant> doubt{};  ///< call ShardMap::Doubt with this time
};

/// Decides about a stored record. It is parked at most until `max_listings` listings did not
/// return the range of its shard.
StoredDecision DecideStored(const ParkedRecord& stored, const ShardMap& map, int max_listings,
                            Instant now);
/// Decides about a stored record whose shard's range will not be known: it is reported or sent
/// again.
StoredDecision DecideUnlisted(const ParkedRecord& stored);

/// A queue by expiry; not thread-safe.
class ParkedRecords {
 public:
  void Put(ParkedRecord record);
  /// Removes and returns a record that has expired; nothing if there is none.
  std::optional<ParkedRecord> TakeExpired(Instant now);
  /// Removes and returns all records, in the order of their expiry.
  std::vector<ParkedRecord> TakeAll();
  /// Returns when the next record expires; nothing if there is none.
  std::optional<Instant> NextWake() const;

 private:
  std::multimap<Instant, ParkedRecord> records_;  // keyed by expiry
};

}  // namespace weir::kinesis
