// The state of a Limiter in an SQLite file: weir::sqlite.
#pragma once

#include "weir/embedded/embedded_backend.h"
#include "weir/limiter.h"
