// Draws for the property tests of this module. For tests only.
#pragma once

#include <rapidcheck.h>

namespace weir::sim {

/// Draws from [0, high), from the whole range in the first case too.
inline int Below(int high) { return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, high)); }

}  // namespace weir::sim
