// A producer that fills the shards of a Kinesis stream to their limit: weir::kinesis.
#pragma once

#include "weir/budget/limiter_budget.h"
#include "weir/kinesis/connection.h"
#include "weir/kinesis/producer.h"
#include "weir/limiter.h"
