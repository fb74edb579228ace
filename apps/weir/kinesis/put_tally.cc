#include "apps/weir/kinesis/put_tally.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

namespace weir::app {
namespace {

/// Removes the request id at the end of a service's message, which differs for each request.
std::string_view WithoutRequestId(std::string_view cause) {
  const std::size_t begin = cause.rfind(" (request ");
  return cause.ends_with(')') ? cause.substr(0, begin) : cause;
}

}  // namespace

void PutTally::OnRead(std::uint64_t number) {
  if (!keeps_) return;
  const MutexLock lock(mutex_);
  open_.insert(open_.end(), number);
}

void PutTally::OnStored(std::uint64_t number, nanoseconds latency) {
  latency_.Record(latency.count());
  if (!keeps_) return;
  const MutexLock lock(mutex_);
  open_.erase(number);
}

void PutTally::OnFailed(Failure failure) {
  const MutexLock lock(mutex_);
  ++failed_;
  if (failure.maybe_stored) ++maybe_stored_;
  open_.erase(failure.number);
  if (failure.line) {
    held_bytes_ += failure.line->size();
    held_.emplace(failure.number, *std::move(failure.line));
  }
  CountFailure(failure.number, std::move(failure.cause));
}

std::uint64_t PutTally::failed() const {
  const MutexLock lock(mutex_);
  return failed_;
}

// Returns the held lines before the first pending line; all of them if too many bytes are held.
std::vector<std::string> PutTally::TakeFailedLines() {
  const MutexLock lock(mutex_);
  const bool in_order = !open_.empty() && held_bytes_ <= kMaxHeldBytes;
  const std::uint64_t end = in_order ? *open_.begin() : std::numeric_limits<std::uint64_t>::max();
  std::vector<std::string> lines;
  while (!held_.empty() && held_.begin()->first < end) {
    lines.push_back(std::move(held_.extract(held_.begin()).mapped()));
    held_bytes_ -= lines.back().size();
  }
  return lines;
}

void PutTally::FillOutcome(PutOutcome& outcome) const {
  const MutexLock lock(mutex_);
  outcome.failed = failed_;
  outcome.maybe_stored = maybe_stored_;
  outcome.causes = causes_;
  std::ranges::sort(outcome.causes, {}, &FailureCause::first_line);
  outcome.latency = latency_.Snapshot();
}

/// Lines with the same cause share an entry; causes beyond kMaxCauses are not listed.
void PutTally::CountFailure(std::uint64_t number, std::string cause) {
  const auto same = std::ranges::find_if(causes_, [&](const FailureCause& known) {
    return WithoutRequestId(known.text) == WithoutRequestId(cause);
  });
  if (same != causes_.end()) {
    same->first_line = std::min(same->first_line, number);
    ++same->lines;
  } else if (causes_.size() < kMaxCauses) {
    causes_.push_back({std::move(cause), number, 1});
  }
}

}  // namespace weir::app
