// zae-limiter's table in a simulated DynamoDB.
#pragma once

#include <cstdint>

#include "weir/dynamodb/testing/sim_table.h"
#include "weir/zae_table/keys.h"
#include "weir/zae_table/zae_layout.h"

namespace weir::dynamo {

struct ZaeSimTable : SimTable {
  explicit ZaeSimTable(bool empty = false, std::uint64_t seed = 1)
      : SimTable(ZaeLayout(), empty, seed) {}
};

}  // namespace weir::dynamo
