// One page of a Query or a Scan, cut out of the items that it reads.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "weir/sim/dynamodb/dynamo_index.h"
#include "weir/sim/dynamodb/dynamo_request.h"
#include "weir/sim/dynamodb/expression/dynamo_condition.h"
#include "weir/sim/dynamodb/expression/dynamo_path.h"

namespace weir::sim {

/// An item and its position in the table or index.
using Candidate = std::pair<Position, const Item*>;

/// The parameters of a request that select its page.
struct PageCut {
  std::optional<Condition> filter;
  std::vector<Path> projection;  ///< whole items if it is empty
  std::size_t limit = SIZE_MAX;  ///< of the items that are read
  bool count_only = false;
};

struct ReadPage {
  std::vector<const Item*> items;  ///< items that pass the filter
  std::size_t scanned = 0;
  std::size_t bytes = 0;
  const Item* last = nullptr;  ///< the page ends with it; null on the last page
};

/// Reads the parameter Limit.
std::size_t ReadLimit(const RequestFields& fields);
/// Returns the page that begins with the first candidate.
ReadPage CutPage(const PageCut& cut, const std::vector<Candidate>& candidates);
/// Returns the response. `keys` are the keys in LastEvaluatedKey.
nlohmann::json ToResponse(const PageCut& cut, const ReadPage& page,
                          const std::vector<KeyNames>& keys);

}  // namespace weir::sim
