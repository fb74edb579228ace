// Instants that the tests of the program share. For tests only.
#pragma once

#include "weir/base/time.h"

namespace weir::app {

/// The time of a trace's first row.
inline constexpr UnixMillis kStart{1'700'158'546'681};
inline constexpr UnixMillis kNow{1'767'225'600'013};

}  // namespace weir::app
