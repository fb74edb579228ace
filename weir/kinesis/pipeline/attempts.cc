#include "weir/kinesis/pipeline/attempts.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace weir::kinesis {

void Attempts::Add(Shared attempt) {
  ++count_;
  if (kept_.size() == kKept) kept_.erase(kept_.begin() + 1);
  kept_.push_back(std::move(attempt));
}

const Attempt* Attempts::LastCause() const {
  const auto newest_first = std::views::reverse(kept_);
  const auto cause = std::ranges::find_if(newest_first, [](const Shared& attempt) {
    return !attempt->succeeded() && attempt->code != kExpired && attempt->code != kClosed;
  });
  return cause == newest_first.end() ? nullptr : cause->get();
}

}  // namespace weir::kinesis
