// All of the library. A program that uses one component includes its header alone: weir/bucket.h,
// weir/limiter.h, weir/sqlite.h, weir/dynamodb.h or weir/kinesis.h.
#pragma once

#include "weir/limiter.h"
#include "weir/sqlite.h"
#include "weir/version.h"
#if WEIR_HAS_AWS
#include "weir/dynamodb.h"
#include "weir/kinesis.h"
#endif
