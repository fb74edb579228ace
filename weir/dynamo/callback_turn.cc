#include "weir/dynamo/callback_turn.h"

#include <utility>

namespace weir::dynamo {
namespace {

using TurnTasks = std::vector<TurnTask>;

// Of the turn that runs on this thread, or is held; null: none.
thread_local TurnTasks* current_turn = nullptr;

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

// A task may add others, and so move the vector.
void Run(TurnTasks tasks) noexcept {
  current_turn = &tasks;
  std::size_t ran = 0;
  for (; ran < tasks.size() && ran < kMostInTurn; ++ran) {
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

HeldTurn::HeldTurn() noexcept : holds_(current_turn == nullptr) {
  if (holds_) current_turn = &tasks_;
}

HeldTurn::~HeldTurn() {
  if (!holds_) return;
  current_turn = nullptr;
  if (!tasks_.empty()) Run(std::move(tasks_));
}

}  // namespace weir::dynamo
