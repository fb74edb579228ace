// Sends random traffic through queued reservations, and checks the promises to their callers (C12);
// then the same with bugs planted around the queue, each of which the simulation must find.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/rng.h"
#include "weir/embedded/testing/planted_reservations_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kReservationSeeds = 200;
constexpr int kReservationSteps = 150;

// The history of one claim.
struct QueuedClaim {
  Deadline deadline;
  int results = 0;
  int made = 0;
  std::optional<Code> error{};
  bool not_begun = false;  // as its error reports
};

class ReservationSimulation {
 public:
  ReservationSimulation(std::uint64_t seed, ReservationBug bug)
      : rng_(seed),
        worker_(bug),
        timers_(bug),
        queue_(bug, worker_, timers_, [this](const std::string& id) { Made(std::stoul(id)); }) {}

  /// Returns the first broken promise, if any.
  std::optional<std::string> Run() {
    for (int step = 0; step < kReservationSteps && !broken_; ++step) {
      Act();
      CheckDeadlines();
    }
    while (worker_.posted() > 0) worker_.RunOnePosted();
    for (const QueuedClaim& claim : claims_) CheckEnd(claim);
    return broken_;
  }

 private:
  void Break(std::string promise) {
    if (!broken_) broken_ = std::move(promise);
  }
  Instant now() const { return timers_.clock().Now(); }

  void Act() {
    switch (rng_.Below(4)) {
      case 0:
      case 1:
        return Ask();
      case 2:
        return worker_.RunOnePosted();
      default:
        timers_.inner.Advance(milliseconds(static_cast<std::int64_t>(rng_.Below(20))));
    }
  }

  void Ask() {
    const bool hurries = rng_.Below(4) != 0;
    const auto wait = milliseconds(static_cast<std::int64_t>(1 + rng_.Below(60)));
    const Deadline deadline = hurries ? Deadline::At(now() + wait) : Deadline::Never();
    const std::size_t number = claims_.size();
    claims_.push_back({.deadline = deadline});
    const bool is_full = worker_.posted() >= kMaxQueued;
    in_caller_ = true;
    queue_.Claim(number, deadline,
                 [this, number](const Result<ClaimResult>& result) { OnResult(number, result); });
    in_caller_ = false;
    const bool is_refused = claims_[number].error == Code::kUnavailable;
    if (is_refused != is_full) Break(fmt::format("{} wait, refused: {}", kMaxQueued, is_refused));
  }

  void OnResult(std::size_t number, const Result<ClaimResult>& result) {
    QueuedClaim& claim = claims_[number];
    ++claim.results;
    if (result) return;
    claim.error = result.error().code;
    if (claim.error != Code::kDeadlineExceeded) return;
    claim.not_begun = result.error().message.ends_with(kNotBegun);
    if (!claim.deadline.ExpiredAt(now())) Break("answered as late before its deadline");
    if (claim.made > 0 && claim.not_begun) Break("it was begun, and its caller is not told so");
    if (claim.made == 0 && !claim.not_begun) Break("it was not begun, and may count");
  }

  // Notes that a claim is made. Deadlines may pass meanwhile.
  void Made(std::size_t number) {
    QueuedClaim& claim = claims_[number];
    if (in_caller_) Break("the caller waits for the file");
    if (claim.results > 0) Break("made after its answer");
    if (last_made_ && number <= *last_made_) Break("made twice, or out of order");
    last_made_ = number;
    ++claim.made;
    timers_.inner.Advance(milliseconds(static_cast<std::int64_t>(rng_.Below(10))));
    CheckDeadlines();
  }

  void CheckDeadlines() {
    for (const QueuedClaim& claim : claims_) {
      if (claim.results == 0 && claim.deadline.ExpiredAt(now())) Break("not answered in time");
    }
  }

  void CheckEnd(const QueuedClaim& claim) {
    if (claim.results != 1) Break(fmt::format("answered {} times", claim.results));
    const bool is_made =
        !claim.error || (claim.error == Code::kDeadlineExceeded && !claim.not_begun);
    if (claim.made != (is_made ? 1 : 0)) Break(fmt::format("made {} times", claim.made));
  }

  Rng rng_;
  PlantedScheduler worker_;
  PlantedScheduler timers_;
  std::vector<QueuedClaim> claims_;
  bool in_caller_ = false;
  std::optional<std::size_t> last_made_;
  std::optional<std::string> broken_;
  PlantedReservations queue_;
};

std::optional<std::string> FirstBrokenReservation(ReservationBug bug) {
  for (std::uint64_t seed = 0; seed < kReservationSeeds; ++seed) {
    const auto broken = ReservationSimulation(seed, bug).Run();
    if (broken) return fmt::format("seed {}: {}", seed, *broken);
  }
  return std::nullopt;
}

TEST(QueuedReservationsSimulation, C12EachCallIsAnsweredOnceInTimeInOrderAndTruly) {
  EXPECT_EQ(FirstBrokenReservation(ReservationBug::kNone), std::nullopt);
}

TEST(QueuedReservationsSimulation, EachPlantedBugIsFound) {
  using Named = std::pair<const char*, ReservationBug>;
  for (const auto& [name, bug] :
       {Named{"runs in the caller", ReservationBug::kRunsInTheCaller},
        {"overtakes", ReservationBug::kOvertakes},
        {"answers late", ReservationBug::kCompletesLate},
        {"answers early", ReservationBug::kCompletesEarly},
        {"loses the deadline", ReservationBug::kLosesTheDeadline},
        {"makes what is too late", ReservationBug::kMakesWhatIsTooLate},
        {"makes twice", ReservationBug::kMakesTwice},
        {"answers twice", ReservationBug::kCompletesTwice},
        {"says that nothing was done", ReservationBug::kSaysNothingWasDone},
        {"answers without making", ReservationBug::kCompletesWithoutMaking},
        {"takes one too many", ReservationBug::kTakesOneTooMany}}) {
    EXPECT_TRUE(FirstBrokenReservation(bug)) << "not found: a queue that " << name;
  }
}

}  // namespace
}  // namespace weir
