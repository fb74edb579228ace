// Rate limits inside one process: weir::bucket, which needs no other library.
#pragma once

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/bucket/atomic_bucket.h"
#include "weir/bucket/credit_bucket.h"
#include "weir/bucket/fast_clock.h"
#include "weir/bucket/keyed_bucket.h"
#include "weir/bucket/quota.h"
