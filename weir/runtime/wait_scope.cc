#include "weir/runtime/wait_scope.h"

#include <utility>

#include "weir/runtime/callback_scope.h"

namespace weir {
namespace {

thread_local WaitScope* innermost = nullptr;

// The work may run callbacks of other calls.
bool ContinueWork(WaiterWork& work) {
  const CallbackScope scope;
  return work.Continue();
}

}  // namespace

WaitScope::WaitScope(internal::Arrival* awaited)
    : awaited_(awaited), outer_(std::exchange(innermost, this)) {
  if (outer_ != nullptr) outer_->HandOver();
}

WaitScope::~WaitScope() {
  HandOver();
  innermost = outer_;
}

void WaitScope::Wait() {
  while (work_ != nullptr) {
    if (awaited_->WaitUnlessReadable(work_->readable(), work_->wake())) return HandOver();
    // The work may give this scope its next work: the first request of a call may be followed by a
    // second.
    std::unique_ptr<WaiterWork> work = std::move(work_);
    if (ContinueWork(*work)) work_ = std::move(work);
  }
  awaited_->Wait();
}

bool WaitScope::AcceptsWork() {
  return innermost != nullptr && innermost->awaited_ != nullptr && innermost->work_ == nullptr &&
         !innermost->awaited_->Happened();
}

void WaitScope::GiveWork(std::unique_ptr<WaiterWork> work) { innermost->work_ = std::move(work); }

void WaitScope::HandOver() {
  if (work_ == nullptr) return;
  work_->HandOver();
  work_.reset();
}

}  // namespace weir
