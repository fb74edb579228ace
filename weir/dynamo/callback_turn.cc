#include "weir/dynamo/callback_turn.h"

#include <iterator>
#include <utility>

namespace weir::dynamo {
namespace {

// Of the turn that runs on this thread; null: none.
thread_local std::vector<Task>* current_turn = nullptr;

void Post(std::vector<Task> rest, Scheduler& scheduler) {
  scheduler.Post(
      [rest = std::move(rest), &scheduler]() mutable { RunInTurn(std::move(rest), scheduler); });
}

}  // namespace

void RunInTurn(std::vector<Task> tasks, Scheduler& scheduler) {
  if (tasks.empty()) return;
  if (current_turn != nullptr) {
    std::move(tasks.begin(), tasks.end(), std::back_inserter(*current_turn));
    return;
  }
  current_turn = &tasks;
  std::size_t ran = 0;
  // A task may add others, and so move the vector.
  for (; ran < tasks.size() && ran < kMostInTurn; ++ran) {
    Task task = std::move(tasks[ran]);
    task();
  }
  current_turn = nullptr;
  tasks.erase(tasks.begin(), tasks.begin() + static_cast<std::ptrdiff_t>(ran));
  if (!tasks.empty()) Post(std::move(tasks), scheduler);
}

}  // namespace weir::dynamo
