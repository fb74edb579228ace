#include "weir/zae_table/actor/callback_turn.h"

#include <utility>

namespace weir::dynamo {
namespace {

using TurnTasks = std::vector<TurnTask>;

// The tasks of the turn that runs, or is held, on this thread; null: there is none.
thread_local TurnTasks* current_turn = nullptr;

// Posts the tasks from index `from` on, one closure for each run of tasks with the same scheduler.
void Post(TurnTasks rest, std::size_t from) {
  while (from < rest.size()) {
    Scheduler& scheduler = *rest[from].scheduler;
    std::vector<Task> tasks;
    for (; from < rest.size() && rest[from].scheduler == &scheduler; ++from) {
      tasks.push_back(std::move(rest[from].run));
    }
    scheduler.Post([tasks = std::move(tasks), &scheduler]() mutable {
      RunInTurn(std::move(tasks), scheduler);
    });
  }
}

// Runs the tasks, and those that they add, which may reallocate the vector: so each task is moved
// out of it before it runs.
void Run(TurnTasks tasks) noexcept {
  current_turn = &tasks;
  std::size_t ran = 0;
  for (; ran < tasks.size() && ran < kMaxInTurn; ++ran) {
    Task run = std::move(tasks[ran].run);
    run();
  }
  current_turn = nullptr;
  Post(std::move(tasks), ran);
}

}  // namespace

void RunInTurn(std::vector<Task> tasks, Scheduler& scheduler) noexcept {
  if (tasks.empty()) return;
  TurnTasks own;
  TurnTasks& turn = current_turn != nullptr ? *current_turn : own;
  for (Task& task : tasks) turn.push_back({std::move(task), &scheduler});
  if (!own.empty()) Run(std::move(own));
}

DeferredCallbacks::DeferredCallbacks() noexcept : holds_(current_turn == nullptr) {
  if (holds_) current_turn = &tasks_;
}

DeferredCallbacks::~DeferredCallbacks() {
  if (!holds_) return;
  current_turn = nullptr;
  if (!tasks_.empty()) Run(std::move(tasks_));
}

}  // namespace weir::dynamo
