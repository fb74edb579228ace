// Runs callbacks one after the other: none within another one, and not too many at a time.
#pragma once

#include <vector>

#include "weir/runtime/scheduler.h"

namespace weir::dynamo {

/// Runs the tasks on this thread. If it is called by a task that RunInTurn runs, the tasks run
/// after that one: a caller that asks again from its callback is not answered within it, however
/// often it does so. After kMostInTurn tasks in a row the others are posted to the scheduler, so
/// that a thread that came with one answer does not serve all callers. Under no lock; `scheduler`
/// must live until the tasks that are passed have run. Thread-safe.
void RunInTurn(std::vector<Task> tasks, Scheduler& scheduler);
inline constexpr std::size_t kMostInTurn = 256;

}  // namespace weir::dynamo
