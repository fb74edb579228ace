// A program with a loop of its own: Weir's timers and callbacks run on Boost.Asio, in one thread
// without locks. A request that finds no tokens waits for them without blocking the loop.
//
//   asio_scheduler
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <cstdio>
#include <map>
#include <utility>

#include "weir/limiter.h"

namespace {

namespace asio = boost::asio;

/// Runs tasks on an io_context. All calls must come from the thread that runs it.
class AsioScheduler final : public weir::Scheduler {
 public:
  AsioScheduler(asio::io_context& context, const weir::Clock& clock)
      : clock_(clock), timer_(context) {}
  // The objects that a task owns may call this scheduler when they are destroyed.
  ~AsioScheduler() override {
    const weir::CallbackScope scope;
    while (!tasks_.empty()) Cancel(tasks_.begin()->first.second);
  }
  AsioScheduler(const AsioScheduler&) = delete;
  AsioScheduler& operator=(const AsioScheduler&) = delete;

  const weir::Clock& clock() const override { return clock_; }

  // Asio's posted handlers have no order relative to timers, so a post is a timer that is due.
  void Post(weir::Task task) override { At(clock_.Now(), std::move(task)); }

  weir::TimerId At(weir::Instant when, weir::Task task) override {
    const auto id = weir::TimerId{++last_};
    due_.emplace(id, when);
    tasks_.emplace(std::pair(when, id), std::move(task));
    if (tasks_.begin()->first.second == id) Arm();
    return id;
  }

  bool Cancel(weir::TimerId id) override {
    const auto found = due_.find(id);
    if (found == due_.end()) return false;
    const weir::CallbackScope scope;
    const auto cancelled = tasks_.extract({found->second, id});
    due_.erase(found);
    if (tasks_.empty()) timer_.cancel();  // so that the io_context has no work left
    return true;  // destroys the objects that the task owns; they may call this scheduler
  }

 private:
  // One timer waits for the first task, since Asio does not run timers of one instant in their
  // order, and may run one that was cancelled after its instant.
  void Arm() {
    if (tasks_.empty()) return;
    timer_.expires_after(tasks_.begin()->first.first - clock_.Now());
    timer_.async_wait([this](auto error) {
      if (!error) RunDue();  // otherwise an earlier task has become the first one, or there is none
    });
  }

  // The clock is read once: a task that posts itself again runs after the other handlers of Asio.
  void RunDue() {
    const weir::Instant now = clock_.Now();
    while (!tasks_.empty() && tasks_.begin()->first.first <= now) RunFirst();
    Arm();
  }

  // The scope makes a blocking call of a Limiter in a callback fail. Without it the call would wait
  // for a task that only this thread can run. The task is destroyed within the scope, because the
  // objects that it owns may make such a call, too.
  void RunFirst() {
    const weir::CallbackScope scope;
    auto first = tasks_.extract(tasks_.begin());
    due_.erase(first.key().second);
    first.mapped()();
  }

  const weir::Clock& clock_;
  std::uint64_t last_ = 0;
  asio::steady_timer timer_;
  std::map<weir::TimerId, weir::Instant> due_;
  std::map<std::pair<weir::Instant, weir::TimerId>, weir::Task> tasks_;
};

}  // namespace

int main() {
  const weir::SystemClock clock;
  asio::io_context context;
  AsioScheduler scheduler(context, clock);
  const auto backend = weir::MakeMemoryBackend({}, &clock);
  weir::Limiter limiter(*backend, scheduler);

  const auto limits = weir::ParseLimits("calls:20/sec:2");
  const auto deadline = weir::Deadline::After(clock, std::chrono::seconds(5));
  int admitted = 0;
  for (int request = 1; request <= 5; ++request) {
    limiter.Acquire({.entity = "ann",
                     .resource = "search",
                     .amounts = {{"calls", 1}},
                     .wait = true,
                     .limits = *limits},
                    deadline, [&, request](weir::Result<weir::Outcome> outcome) {
                      const bool is_admitted = outcome && outcome->admitted();
                      admitted += is_admitted ? 1 : 0;
                      std::printf("request %d: %s\n", request,
                                  is_admitted ? "admitted" : "refused");
                    });
  }
  context.run();
  return admitted == 5 ? 0 : 1;
}
