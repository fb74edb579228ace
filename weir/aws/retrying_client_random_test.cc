// Calls against a service that fails in every way, by seed. The service records its real actions.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "weir/aws/retrying_client.h"
#include "weir/aws/testing/scripted_aws.h"
#include "weir/base/rng.h"
#include "weir/runtime/loop.h"
#include "weir/sim/sim_scheduler.h"

namespace weir {
namespace {

using JsonResult = tl::expected<JsonReply, AwsFailure>;

enum Fault : std::size_t {
  kGood,
  kThrottled,
  kUnsent,
  kLostBefore,  ///< the connection broke before the service read the request
  kLostAfter,   ///< ... after it was applied
  kBroken,      ///< 500, applied or not
  kSilent,      ///< no response in time, applied or not
  kDamaged,
  kRefused,  ///< a condition did not hold
  kExpired,
  kSkewed,
  kQueued,  ///< waits for a connection, then has one of the other faults
  kFaults
};

/// What really happened to one call.
struct Truth {
  int sends = 0;
  int mendable = 0;  ///< how many of these were refused for credentials or clock
  int applied = 0;
  int doubtful = 0;  ///< sends whose outcome the client cannot know
  /// The time at which a request that waited for a connection was abandoned.
  std::optional<Deadline> given_up;
};

class FaultyService final : public HttpTransport {
 public:
  FaultyService(Scheduler& scheduler, Rng& rng, std::vector<Truth>& truths)
      : scheduler_(scheduler), rng_(rng), truths_(truths) {}

  void Send(HttpRequest request, SendLimits limits, HttpDone done) override {
    const auto fault = static_cast<Fault>(rng_.Below(kFaults));
    ++counts[fault];
    if (fault == kQueued) return Queue(std::move(request), limits, std::move(done));
    Begin(fault, request, limits.DeadlineFrom(scheduler_.clock().Now()), std::move(done));
  }

  std::array<int, kFaults> counts{};
  int begun_late = 0, never_begun = 0;

 private:
  /// Waits for a connection, often for longer than an attempt may take.
  void Queue(HttpRequest request, SendLimits limits, HttpDone done) {
    const Instant begin = scheduler_.clock().Now() + milliseconds(rng_.Between(0, 120));
    if (limits.LatestBegin().ExpiredAt(begin)) {
      ++never_begun;
      Truth& truth = truths_.at(std::stoul(request.body));
      ++truth.sends;
      truth.given_up = limits.LatestBegin();
      scheduler_.At(limits.LatestBegin().at(), [done = std::move(done)]() mutable {
        done(tl::unexpected(HttpFailure{false, true, "no connection in time"}));
      });
      return;
    }
    ++begun_late;
    scheduler_.At(begin, [this, limits, begin, request = std::move(request),
                          done = std::move(done)]() mutable {
      Begin(static_cast<Fault>(rng_.Below(kQueued)), request, limits.DeadlineFrom(begin),
            std::move(done));
    });
  }

  void Begin(Fault fault, const HttpRequest& request, Deadline deadline, HttpDone done) {
    HttpResult response = Play(fault, truths_.at(std::stoul(request.body)));
    const Instant now = scheduler_.clock().Now();
    if (fault != kSilent && rng_.Chance(0.3)) return done(std::move(response));
    Instant at = fault == kSilent ? deadline.at() : now + milliseconds(rng_.Between(0, 30));
    if (at > deadline.at()) {
      // Whatever the service did, the client gets no response.
      at = deadline.at();
      if (response || !response.error().maybe_sent) ++truths_.at(std::stoul(request.body)).doubtful;
      response = tl::unexpected(HttpFailure{true, true, "timed out"});
    }
    scheduler_.At(at, [done = std::move(done), response = std::move(response)]() mutable {
      done(std::move(response));
    });
  }

  HttpResult Play(Fault fault, Truth& truth) {
    ++truth.sends;
    truth.mendable += fault == kExpired || fault == kSkewed ? 1 : 0;
    const bool perhaps = rng_.Chance(0.5);
    const bool applied = fault == kGood || fault == kLostAfter || fault == kDamaged ||
                         ((fault == kBroken || fault == kSilent) && perhaps);
    truth.applied += applied ? 1 : 0;
    const bool doubtful = fault == kLostBefore || fault == kLostAfter || fault == kBroken ||
                          fault == kSilent || fault == kDamaged;
    truth.doubtful += doubtful ? 1 : 0;
    return ResponseOf(fault);
  }

  static HttpResult ResponseOf(Fault fault) {
    const auto refusal = [](int status, const std::string& code) {
      return HttpResponse{
          status, {{"date", "Thu, 01 Jan 2026 01:00:00 GMT"}}, R"({"__type":")" + code + R"("})"};
    };
    switch (fault) {
      case kThrottled:
        return refusal(400, "ThrottlingException");
      case kUnsent:
        return tl::unexpected(HttpFailure{false, false, "refused"});
      case kLostBefore:
      case kLostAfter:
        return tl::unexpected(HttpFailure{true, false, "closed"});
      case kSilent:
        return tl::unexpected(HttpFailure{true, true, "timed out"});
      case kBroken:
        return refusal(500, "InternalServerError");
      case kDamaged:
        return HttpResponse{200, {{"x-amz-crc32", "1"}}, "{}"};
      case kRefused:
        return refusal(400, "ConditionalCheckFailedException");
      case kExpired:
        return refusal(400, "ExpiredTokenException");
      case kSkewed:
        return refusal(403, "RequestTimeTooSkewed");
      default:
        return HttpResponse{200, {}, "{}"};
    }
  }

  Scheduler& scheduler_;
  Rng& rng_;
  std::vector<Truth>& truths_;
};

/// One client, some calls, one seed.
struct Episode {
  struct Call {
    bool repeatable = false;
    Deadline deadline = Deadline::Never();
    int times = 0;
    Instant at;
    JsonResult result;
  };

  explicit Episode(std::uint64_t seed) : rng(seed), scheduler(seed) {
    JsonClientOptions options{.target_prefix = "T", .host = "h", .seed = seed};
    options.attempt_timeout = milliseconds(50);
    options.retry.quota = rng.Between(5, 100);
    if (rng.Chance(0.5)) credentials.after = milliseconds(rng.Between(0, 30));
    const auto client = MakeJsonClient({service, signer, credentials, scheduler}, options);
    for (std::size_t i = 0; i < calls.size(); ++i) Start(*client, i);
    finished = scheduler.RunAll(10'000);
    stats = client->stats();
  }

  void Start(JsonClient& client, std::size_t i) {
    Call& call = calls[i];
    call.repeatable = rng.Chance(0.5);
    if (rng.Chance(0.7)) {
      call.deadline = Deadline::After(scheduler.clock(), milliseconds(rng.Between(0, 200)));
    }
    client.Call({"Op", std::to_string(i), call.repeatable}, call.deadline,
                [this, &call](JsonResult result) {
                  ++call.times;
                  call.at = scheduler.clock().Now();
                  call.result = std::move(result);
                });
    if (rng.Chance(0.5)) scheduler.Advance(milliseconds(rng.Between(0, 40)));
  }

  Rng rng;
  sim::SimScheduler scheduler;
  std::vector<Call> calls = std::vector<Call>(10);
  std::vector<Truth> truths = std::vector<Truth>(10);
  FaultyService service{scheduler, rng, truths};
  ScriptedCredentials credentials{scheduler};
  ScriptedSigner signer;
  bool finished = false;
  JsonClientStats stats;
};

void ExpectTrue(const Episode::Call& call, const Truth& truth) {
  ASSERT_EQ(call.times, 1);
  EXPECT_LE(call.at, call.deadline.at());
  EXPECT_LE(truth.sends - std::min(truth.mendable, 2), 5);
  EXPECT_TRUE(call.repeatable || truth.applied <= 1);
  EXPECT_EQ(truth.given_up.value_or(call.deadline), call.deadline);
  if (call.result) {
    EXPECT_EQ(call.result->attempts, truth.sends);
    EXPECT_EQ(call.result->maybe_repeated, truth.doubtful > 0);
    EXPECT_GE(truth.applied, 1);
    EXPECT_TRUE(call.result->maybe_repeated || truth.applied == 1);
    return;
  }
  const AwsFailure& failure = call.result.error();
  EXPECT_EQ(failure.attempts, truth.sends);
  EXPECT_EQ(failure.maybe_applied, truth.doubtful > 0);
  EXPECT_TRUE(failure.maybe_applied || truth.applied == 0);
  EXPECT_TRUE(failure.maybe_applied || failure.kind != FailureClass::kAmbiguous);
}

// Fails if: the doubt about an earlier attempt is forgotten, a call that is not repeatable is
// retried after a lost response, an unsent request is reported as possibly applied, a wait exceeds
// the deadline, or the time of an attempt includes the wait for a connection.
TEST(RetryingClientProperty, EveryCallIsAnsweredOnceAndAsItReallyWas) {
  std::array<int, kFaults> faults{};
  std::array<int, 8> failures{};
  int good = 0, repeated = 0, begun_late = 0, never_begun = 0;
  std::uint64_t retries = 0, quota_refused = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    const Episode run(seed);
    ASSERT_TRUE(run.finished);
    std::uint64_t sends = 0;
    for (std::size_t i = 0; i < run.calls.size(); ++i) {
      ExpectTrue(run.calls[i], run.truths[i]);
      sends += static_cast<std::uint64_t>(run.truths[i].sends);
      const JsonResult& result = run.calls[i].result;
      if (!result) ++failures[static_cast<std::size_t>(result.error().kind)];
      if (result) ++good;
      if (result && result->maybe_repeated) ++repeated;
    }
    ASSERT_EQ(run.stats.calls, run.calls.size());
    ASSERT_EQ(run.stats.attempts, sends);
    retries += run.stats.retries;
    quota_refused += run.stats.quota_refused;
    for (std::size_t i = 0; i < kFaults; ++i) faults[i] += run.service.counts[i];
    begun_late += run.service.begun_late;
    never_begun += run.service.never_begun;
  }
  for (const int count : faults) EXPECT_GT(count, 100) << "a fault did not occur";
  for (const auto kind :
       {FailureClass::kThrottle, FailureClass::kTransient, FailureClass::kAuth,
        FailureClass::kAmbiguous, FailureClass::kConditional, FailureClass::kDeadline}) {
    EXPECT_GT(failures[static_cast<std::size_t>(kind)], 0) << Name(kind);
  }
  EXPECT_GT(begun_late, 100);
  EXPECT_GT(never_begun, 10);
  EXPECT_GT(good, 500);
  EXPECT_GT(repeated, 50);
  EXPECT_GT(retries, 1000U);
  EXPECT_GT(quota_refused, 50U);
}

/// Throttles every third request; responds on the loop's thread or before Send returns.
class ThrottlingService final : public HttpTransport {
 public:
  explicit ThrottlingService(Scheduler& scheduler) : scheduler_(scheduler) {}
  void Send(HttpRequest, SendLimits, HttpDone done) override {
    const int n = sends.fetch_add(1);
    HttpResult response = HttpResponse{200, {}, "{}"};
    if (n % 3 == 0) response = HttpResponse{429, {}, ""};
    if (n % 2 == 0) return done(std::move(response));
    scheduler_.Post([done = std::move(done), response = std::move(response)]() mutable {
      done(std::move(response));
    });
  }
  std::atomic<int> sends = 0;

 private:
  Scheduler& scheduler_;
};

TEST(RetryingClientThreads, CallsFromManyThreadsAreEachAnsweredOnce) {
  constexpr int kThreads = 4, kCalls = 100;
  const SystemClock clock;
  std::atomic<int> good = 0, bad = 0;
  std::latch all(kThreads * kCalls);
  Loop loop(clock);
  ThrottlingService service(loop);
  struct Keys final : CredentialsProvider {
    void Get(Deadline, Done<Credentials> done) override { done(Credentials{"k", "s", "", {}}); }
  } credentials;
  struct NoSigner final : Signer {
    Status Sign(HttpRequest&, const Credentials&, UnixMillis) override { return {}; }
  } no_signer;
  JsonClientOptions options{.target_prefix = "T", .host = "h"};
  options.retry.base = milliseconds(1);
  options.retry.cap = milliseconds(1);
  const auto client = MakeJsonClient({service, no_signer, credentials, loop}, options);
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kCalls; ++i) {
        client->Call({"Op", "", false}, Deadline::Never(), [&](const JsonResult& result) {
          (result ? good : bad).fetch_add(1);
          all.count_down();
        });
      }
    });
  }
  all.wait();
  EXPECT_EQ(good + bad, kThreads * kCalls);
  const JsonClientStats stats = client->stats();
  EXPECT_EQ(stats.attempts, static_cast<std::uint64_t>(service.sends.load()));
  EXPECT_EQ(stats.attempts - stats.retries, static_cast<std::uint64_t>(kThreads * kCalls));
  EXPECT_GT(stats.throttles, 100U);
}

}  // namespace
}  // namespace weir
