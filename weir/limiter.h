// Limits for each entity and resource, with leases and waiting: weir::limiter. The state is in
// memory here; weir/sqlite.h and weir/dynamodb.h share it between processes.
#pragma once

#include "weir/bucket.h"
#include "weir/limiter/limiter.h"
#include "weir/model/limits_file.h"
#include "weir/reservation/reservation_limiter.h"
#include "weir/runtime/await.h"
#include "weir/runtime/loop.h"
#include "weir/store/memory/memory_backend.h"
