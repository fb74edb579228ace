// The keys and indexes of zae-limiter's table.
//
// Layout: zae-limiter 0.17.0, its get_table_definition (schema 0.10.0).
#pragma once

#include "weir/dynamodb/table_layout.h"

namespace weir::dynamo {

/// Keys PK and SK, GSI1 to GSI4, LSI1 to LSI5 (reserved: no item sets their keys), billed per
/// request, with a stream of new and old images.
const TableLayout& ZaeLayout();

}  // namespace weir::dynamo
