// RapidCheck's generators of limits and limits files. For the tests of this room only.
#pragma once

#include <rapidcheck.h>

#include "weir/model/limits_file.h"

namespace weir {

rc::Gen<Quota> AnyQuota();
rc::Gen<Limit> AnyLimit();
/// One to four, with distinct names.
rc::Gen<std::vector<Limit>> AnyLimits();
/// Valid as a whole: parents form no cycle, cascades are short.
rc::Gen<LimitsFile> AnyLimitsFile();

}  // namespace weir
