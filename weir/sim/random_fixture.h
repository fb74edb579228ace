// What the random tests of this room draw. For tests only.
#pragma once

#include <rapidcheck.h>

namespace weir::sim {

/// In [0, high), the whole range from the first case on.
inline int Below(int high) { return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, high)); }

}  // namespace weir::sim
