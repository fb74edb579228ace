#include "weir/limiter/adjustment.h"

namespace weir {

Adjustment::State StateAfter(const Status& answer, bool may_count) {
  if (answer) return Adjustment::State::kCounts;
  switch (answer.error().code) {
    case Code::kPermissionDenied:
    case Code::kUnauthenticated:
      return may_count ? Adjustment::State::kDoubt : Adjustment::State::kRefused;
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kFailedPrecondition:
    case Code::kOutOfRange:
    case Code::kUnimplemented:
    case Code::kResourceExhausted:
      return Adjustment::State::kRefused;
    default:
      return Adjustment::State::kDoubt;
  }
}

}  // namespace weir
