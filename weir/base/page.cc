#include "weir/base/page.h"

namespace weir {

Status CheckLimit(const PageRequest& page) {
  if (page.limit > 0) return {};
  return Fail(Code::kInvalidArgument, "page limit is 0; it must be at least 1");
}

}  // namespace weir
