#include "weir/limiter/adjustment.h"

namespace weir {

Adjustment::State StateAfter(const Status& result, bool may_count) {
  using State = Adjustment::State;
  if (result) return State::kCounts;
  const Error& error = result.error();
  if (error.is_partial) return State::kGivenUp;
  const bool is_of_caller =
      error.code == Code::kPermissionDenied || error.code == Code::kUnauthenticated;
  return IsDefinite(error.code) && !(is_of_caller && may_count) ? State::kRefused : State::kDoubt;
}

}  // namespace weir
