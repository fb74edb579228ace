// RapidCheck generators of limits and limits files. Only for the tests of this module.
#pragma once

#include <rapidcheck.h>

#include "weir/model/limits_file.h"

namespace weir {

rc::Gen<Quota> AnyQuota();
rc::Gen<Limit> AnyLimit();
/// One to four limits with distinct names.
rc::Gen<std::vector<Limit>> AnyLimits();
/// A file that ParseLimitsFile accepts: parents form no cycle, and no cascade is too long.
rc::Gen<LimitsFile> AnyLimitsFile();

}  // namespace weir
