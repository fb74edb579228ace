// The state of a Limiter in DynamoDB, in a file or in memory, by its URL: weir::dynamodb.
#pragma once

#include "weir/backends/open.h"
#include "weir/backends/open_reservations.h"
#include "weir/sqlite.h"
