// A program with a loop of its own: Weir's timers and callbacks run on Boost.Asio, in one thread
// without locks. A request that finds no tokens waits for them without blocking the loop.
//
//   asio_scheduler
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>

#include "weir/limiter.h"

namespace {

namespace asio = boost::asio;

/// Runs tasks on an io_context. All calls must come from the thread that runs it.
class AsioScheduler final : public weir::Scheduler {
 public:
  AsioScheduler(asio::io_context& context, const weir::Clock& clock)
      : context_(context), clock_(clock) {}

  const weir::Clock& clock() const override { return clock_; }

  void Post(weir::Task task) override {
    // A handler of Asio may be copied; a Task cannot.
    asio::post(context_, [task = std::make_shared<weir::Task>(std::move(task))] { Run(*task); });
  }

  weir::TimerId At(weir::Instant when, weir::Task task) override {
    const auto id = weir::TimerId{++last_};
    asio::steady_timer& timer = timers_.try_emplace(id, context_).first->second;
    timer.expires_after(when - clock_.Now());
    timer.async_wait([this, id, task = std::make_shared<weir::Task>(std::move(task))](auto error) {
      if (error) return;  // cancelled
      timers_.erase(id);
      Run(*task);
    });
    return id;
  }

  bool Cancel(weir::TimerId id) override { return timers_.erase(id) != 0; }

 private:
  // The scope makes a blocking call of a Limiter in a callback fail. Without it the call would wait
  // for a task that only this thread can run.
  static void Run(weir::Task& task) {
    const weir::CallbackScope scope;
    task();
  }

  asio::io_context& context_;
  const weir::Clock& clock_;
  std::uint64_t last_ = 0;
  std::map<weir::TimerId, asio::steady_timer> timers_;
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
