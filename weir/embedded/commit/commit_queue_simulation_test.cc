// Sends random traffic through a CommitQueue, and checks the promises to its callers; then the same
// with bugs planted in the queue, each of which the simulation must find.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/rng.h"
#include "weir/base/testing/temp_folder_fixture.h"
#include "weir/embedded/testing/planted_commit_queue_fixture.h"

namespace weir {
namespace {

constexpr std::uint64_t kQueueSeeds = 300;
constexpr int kQueueSteps = 200;

// The history of one call.
struct QueuedCall {
  Deadline deadline;
  bool is_waiter;
  int commits_begun;  // before the call was added
  int results = 0;
  int runs = 0;      // how often a job ran
  int followed = 0;  // runs of the task that follows a late commit
  std::optional<CommitQueue::State> expired{};
  std::optional<int> committed{};  // the commit that included it, whether it succeeded or not
};

// Drives a queue as the committer does.
class QueueSimulation {
 public:
  QueueSimulation(std::uint64_t seed, QueueBug bug, StateFile& file)
      : rng_(seed), file_(file), queue_(bug) {}

  /// Returns the first broken promise, if any.
  std::optional<std::string> Run() {
    for (int step = 0; step < kQueueSteps && !broken_; ++step) {
      Act();
      Expire();
      CheckNow();
    }
    if (!broken_) End();
    return broken_;
  }

 private:
  enum class Phase { kIdle, kCommitting, kRequests, kRunning };

  void Break(std::string promise) {
    if (!broken_) broken_ = std::move(promise);
  }

  void Act() {
    switch (rng_.Below(6)) {
      case 0:
        return AddWaiter();
      case 1:
        return AddRequest();
      case 2:
        now_ = now_ + nanoseconds(static_cast<std::int64_t>(rng_.Below(30)));
        return;
      default:
        return GoOn();
    }
  }
  Deadline AnyDeadline() {
    if (rng_.Below(4) == 0) return Deadline::Never();
    return Deadline::At(now_ + nanoseconds(static_cast<std::int64_t>(1 + rng_.Below(60))));
  }
  Done<void> ResponseOf(std::size_t number) {
    return [this, number](const Status&) { ++calls_[number].results; };
  }
  std::size_t NewCall(Deadline deadline, bool is_waiter) {
    calls_.push_back({.deadline = deadline, .is_waiter = is_waiter, .commits_begun = commits_});
    return calls_.size() - 1;
  }
  void AddWaiter() {
    const Deadline deadline = AnyDeadline();
    const std::size_t number = NewCall(deadline, true);
    queue_.Add(CommitQueue::Waiter{deadline, ResponseOf(number),
                                   [this, number] { ++calls_[number].followed; }});
  }
  void AddRequest() {
    const Deadline deadline = AnyDeadline();
    const std::size_t number = NewCall(deadline, false);
    auto job = [this, number](StateFile&) {
      ++calls_[number].runs;
      running_ = number;
      return Status();
    };
    queue_.Add(CommitQueue::Request{deadline, std::move(job), ResponseOf(number)});
  }

  // Does the next step of a run of the committer.
  void GoOn() {
    switch (phase_) {
      case Phase::kIdle:
        ++commits_;
        queue_.BeginCommit();
        phase_ = Phase::kCommitting;
        return;
      case Phase::kCommitting:
        CompleteCommitted();
        phase_ = Phase::kRequests;
        return;
      case Phase::kRequests:
        return StartRequest();
      case Phase::kRunning:
        if (Done<void> done = queue_.FinishRequest()) done({});
        phase_ = Phase::kRequests;
        return;
    }
  }
  void CompleteCommitted() {
    const bool succeeds = rng_.Below(4) != 0;
    for (CommitQueue::Waiter& waiter : queue_.TakeCommitted()) {
      if (waiter.done) {
        waiter.done(succeeds ? Status() : Status(Fail(Code::kUnavailable, "disk")));
      } else if (succeeds) {
        waiter.after_late_commit();
      }
    }
    for (QueuedCall& call : calls_) {
      if (!call.is_waiter || call.committed) continue;
      if (call.commits_begun < commits_) {
        call.committed = commits_;
        const int follows = succeeds && call.expired ? 1 : 0;
        if (call.results == 0) Break("a waiter of this commit has no answer");
        if (call.followed != follows) Break("what follows a late commit did not happen once");
      } else if (call.results > 0 && !call.expired) {
        Break("a waiter is answered by a commit that began before it came");
      }
    }
  }
  void StartRequest() {
    CommitQueue::Job job = queue_.StartRequest();
    if (!job) {
      phase_ = Phase::kIdle;
      return;
    }
    EXPECT_TRUE(job(file_));
    const QueuedCall& call = calls_[running_];
    if (call.expired) Break("a job runs that was answered as not begun");
    if (call.commits_begun >= commits_) Break("a job runs before a commit began");
    if (last_run_ && running_ < *last_run_) Break("a job overtakes another one");
    last_run_ = running_;
    phase_ = Phase::kRunning;
  }

  // Expires calls only when NextDeadline has passed, as the committer's timer does.
  void Expire() {
    if (!queue_.NextDeadline().ExpiredAt(now_)) return;
    for (CommitQueue::Expired& call : queue_.TakeExpired(now_)) {
      const std::vector<int> before = Results();
      call.done(Fail(Code::kDeadlineExceeded, "late"));
      for (std::size_t i = 0; i < calls_.size(); ++i) {
        if (calls_[i].results > before[i]) NoteExpired(calls_[i], call.state);
      }
    }
  }
  std::vector<int> Results() const {
    std::vector<int> results;
    for (const QueuedCall& call : calls_) results.push_back(call.results);
    return results;
  }
  void NoteExpired(QueuedCall& call, CommitQueue::State state) {
    call.expired = state;
    if (!call.deadline.ExpiredAt(now_)) Break("answered as late before its deadline");
    const bool is_in_flight = call.is_waiter || call.runs > 0;
    if (is_in_flight != (state == CommitQueue::State::kInFlight)) {
      Break("answered as not begun, or as in flight, and is not");
    }
  }

  void CheckNow() {
    std::size_t known = 0;
    for (const QueuedCall& call : calls_) {
      if (call.results > 1) Break("answered twice");
      if (call.results == 0 && call.deadline.ExpiredAt(now_)) Break("not answered in time");
      const bool is_running = phase_ == Phase::kRunning && &call == &calls_[running_];
      const bool stays = call.is_waiter && call.expired && !call.committed;
      if (call.results == 0 || is_running || stays) ++known;
    }
    if (queue_.size() != known) Break(fmt::format("{} calls, not {}", queue_.size(), known));
  }

  // Closes as the committer does.
  void End() {
    while (phase_ != Phase::kIdle) GoOn();
    for (CommitQueue::Request& request : queue_.TakeNewRequests()) request.done({});
    for (CommitQueue::Waiter& waiter : queue_.TakeLateWaiters()) waiter.after_late_commit();
    for (CommitQueue::Waiter& waiter : queue_.TakeWaiters()) {
      if (waiter.done) waiter.done({});
    }
    for (const QueuedCall& call : calls_) {
      if (call.results != 1) Break("not answered once in the end");
      const bool is_late = call.is_waiter && call.expired && !call.committed;
      if (is_late && call.followed != 1) Break("what follows a late call is lost on closing");
    }
  }

  Rng rng_;
  StateFile& file_;
  PlantedQueue queue_;
  Instant now_{1'000'000};
  Phase phase_ = Phase::kIdle;
  int commits_ = 0;
  std::deque<QueuedCall> calls_;
  std::size_t running_ = 0;
  std::optional<std::size_t> last_run_;
  std::optional<std::string> broken_;
};

class CommitQueueSimulation : public testing::Test {
 protected:
  void SetUp() override {
    auto file = StateFile::Open(folder_ / "weir.db", {});
    ASSERT_TRUE(file) << file.error().message;
    file_ = *std::move(file);
  }
  std::optional<std::string> FirstBroken(QueueBug bug) {
    for (std::uint64_t seed = 0; seed < kQueueSeeds; ++seed) {
      const auto broken = QueueSimulation(seed, bug, *file_).Run();
      if (broken) return fmt::format("seed {}: {}", seed, *broken);
    }
    return std::nullopt;
  }

  TempFolder folder_;
  std::unique_ptr<StateFile> file_;
};

TEST_F(CommitQueueSimulation, EachCallIsAnsweredOnceInTimeAndTruly) {
  EXPECT_EQ(FirstBroken(QueueBug::kNone), std::nullopt);
}

TEST_F(CommitQueueSimulation, EachPlantedBugIsFound) {
  using Named = std::pair<const char*, QueueBug>;
  for (const auto& [name, bug] :
       {Named{"expires early", QueueBug::kExpiresEarly},
        {"loses what expires while it runs", QueueBug::kLosesWhatExpiresWhileItRuns},
        {"hides the deadline of the running", QueueBug::kHidesTheDeadlineOfTheRunning},
        {"forgets what follows a late commit", QueueBug::kForgetsWhatFollowsALateCommit},
        {"answers too early", QueueBug::kCompletesWhatCameAfterTheCommitBegan},
        {"leaves the last waiter", QueueBug::kLeavesTheLastWaiterToTheNextCommit},
        {"runs what was not begun", QueueBug::kRunsWhatWasNotBegun},
        {"answers the expired again", QueueBug::kCompletesTheExpiredAgain},
        {"reverses requests", QueueBug::kReversesRequests},
        {"does not count the running", QueueBug::kDoesNotCountTheRunning},
        {"forgets late waiters on closing", QueueBug::kForgetsLateWaitersOnClosing}}) {
    EXPECT_TRUE(FirstBroken(bug)) << "not found: a queue that " << name;
  }
}

}  // namespace
}  // namespace weir
