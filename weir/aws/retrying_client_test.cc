#include "weir/aws/retrying_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>
#include <map>

#include "weir/aws/clock_skew.h"
#include "weir/aws/credentials/caching_provider.h"
#include "weir/aws/testing/scripted_aws.h"
#include "weir/sim/sim_scheduler.h"

namespace weir {
namespace {

using enum FailureClass;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using JsonResult = tl::expected<JsonReply, AwsFailure>;

HttpResponse Good(std::string body = "{}") { return {.status = 200, .body = std::move(body)}; }
HttpResponse Refusal(std::string_view code, int status = 400) {
  return {.status = status, .body = R"({"__type":"a#)" + std::string(code) + R"("})"};
}
HttpResult Lost() { return tl::unexpected(HttpFailure{true, false, "closed by h"}); }
HttpResult Unsent() { return tl::unexpected(HttpFailure{false, false, "refused by h"}); }
HttpResponse Dated(HttpResponse response, std::string date) {
  response.headers.push_back({"date", std::move(date)});
  return response;
}
/// The beginning of the simulated clock plus ten minutes, within 13 ms.
constexpr const char* kTenMinutesLater = "Thu, 01 Jan 2026 00:10:00 GMT";

/// The result of a call, its time, and the number of completions.
struct Told {
  int times = 0;
  Instant at;
  JsonResult result;

  const JsonReply& reply() const { return result.value(); }
  const AwsFailure& failure() const { return result.error(); }
  bool failed(FailureClass kind) const { return times == 1 && !result && failure().kind == kind; }
  bool good() const { return times == 1 && result.has_value(); }
};

class RetryingClientTest : public ::testing::Test {
 protected:
  static JsonClientOptions Options() {
    return {.target_prefix = "DynamoDB_20120810", .host = "h:8000", .attempt_timeout = seconds(1)};
  }
  void Make(const JsonClientOptions& options) {
    client_ = MakeJsonClient({transport_, signer_, credentials_, scheduler_}, options);
  }
  void SetUp() override { Make(Options()); }

  Told& Start(bool repeatable, Deadline deadline) {
    Told& told = told_.emplace_back();
    client_->Call({"UpdateItem", R"({"a":1})", repeatable}, deadline, [&](JsonResult result) {
      ++told.times;
      told.at = scheduler_.clock().Now();
      told.result = std::move(result);
    });
    return told;
  }
  Told& Call(bool repeatable = false, Deadline deadline = Deadline::Never()) {
    Told& told = Start(repeatable, deadline);
    EXPECT_TRUE(scheduler_.RunAll(10'000));
    return told;
  }
  Told& CallRepeatable() { return Call(true); }
  Deadline Within(nanoseconds wait) const { return Deadline::After(scheduler_.clock(), wait); }
  void Script(HttpResult response, std::optional<nanoseconds> after = std::nullopt) {
    transport_.script.push_back({std::move(response), after});
  }
  std::string KeyOf(std::size_t request) const {
    return transport_.requests.at(request).headers.back().value;
  }

  std::list<Told> told_;
  sim::SimScheduler scheduler_;
  ScriptedTransport transport_{scheduler_};
  ScriptedCredentials credentials_{scheduler_};
  ScriptedSigner signer_;
  std::unique_ptr<JsonClient> client_;
};

TEST_F(RetryingClientTest, SendsWhatTheProtocolAsks) {
  EXPECT_TRUE(Call().good());
  const HttpRequest& request = transport_.requests.front();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/");
  EXPECT_EQ(request.body, R"({"a":1})");
  EXPECT_THAT(request.headers,
              ElementsAre(HttpHeader{"host", "h:8000"},
                          HttpHeader{"content-type", "application/x-amz-json-1.0"},
                          HttpHeader{"x-amz-target", "DynamoDB_20120810.UpdateItem"},
                          HttpHeader{"authorization", "key-1"}));
  EXPECT_THAT(signer_.times, ElementsAre(scheduler_.clock().WallNow()));
}

TEST_F(RetryingClientTest, AnswersBeforeCallReturnsIfAllElseDoes) {
  Script(Good("{\"b\":2}"));
  const Told& told = Start(false, Deadline::Never());
  ASSERT_TRUE(told.good());
  EXPECT_EQ(told.reply().body, "{\"b\":2}");
  EXPECT_EQ(told.reply().attempts, 1);
  EXPECT_FALSE(told.reply().maybe_repeated);
}

TEST_F(RetryingClientTest, AnswersLaterIfAnythingTakesTime) {
  credentials_.after = milliseconds(3);
  Script(Good(), milliseconds(4));
  const Instant begin = scheduler_.clock().Now();
  const Told& told = Start(false, Deadline::Never());
  EXPECT_EQ(told.times, 0);
  scheduler_.RunAll();
  EXPECT_TRUE(told.good());
  EXPECT_EQ(told.at - begin, milliseconds(7));
}

TEST_F(RetryingClientTest, AThrottleIsTriedAgainWhateverTheCall) {
  Script(Refusal("ThrottlingException"));
  Script(Unsent());
  const Told& told = Call();
  ASSERT_TRUE(told.good());
  EXPECT_EQ(told.reply().attempts, 3);
  EXPECT_FALSE(told.reply().maybe_repeated);
  const JsonClientStats stats = client_->stats();
  EXPECT_EQ(stats.calls, 1U);
  EXPECT_EQ(stats.attempts, 3U);
  EXPECT_EQ(stats.retries, 2U);
  EXPECT_EQ(stats.throttles, 1U);
}

TEST_F(RetryingClientTest, ALostAnswerOfACallThatIsNotRepeatableIsSaidSo) {
  Script(Lost());
  const Told& told = Call();
  ASSERT_TRUE(told.failed(kAmbiguous));
  EXPECT_TRUE(told.failure().maybe_applied);
  EXPECT_EQ(told.failure().attempts, 1);
  EXPECT_EQ(told.failure().message, "UpdateItem: closed by h; it may have been applied");
  EXPECT_EQ(transport_.requests.size(), 1U);
}

TEST_F(RetryingClientTest, ALostAnswerOfARepeatableCallIsTriedAgainAndSaidSo) {
  for (const HttpResult& doubtful : {Lost(), HttpResult(Refusal("InternalServerError", 500)),
                                     HttpResult(HttpResponse{200, {{"x-amz-crc32", "1"}}, "{}"})}) {
    Script(doubtful);
    const Told& told = CallRepeatable();
    ASSERT_TRUE(told.good());
    EXPECT_EQ(told.reply().attempts, 2);
    EXPECT_TRUE(told.reply().maybe_repeated);
  }
}

TEST_F(RetryingClientTest, AConditionThatFailsAfterALostAnswerMayBeItsOwnDoing) {
  Script(Lost());
  Script(Refusal("ConditionalCheckFailedException"));
  const Told& told = CallRepeatable();
  ASSERT_TRUE(told.failed(kConditional));
  EXPECT_TRUE(told.failure().maybe_applied);
  EXPECT_EQ(told.failure().attempts, 2);
  Script(Refusal("ConditionalCheckFailedException"));
  const Told& alone = CallRepeatable();
  ASSERT_TRUE(alone.failed(kConditional));
  EXPECT_FALSE(alone.failure().maybe_applied);
  EXPECT_EQ(alone.failure().body, R"({"__type":"a#ConditionalCheckFailedException"})");
}

TEST_F(RetryingClientTest, WhatCannotGoBetterIsAnsweredAtOnce) {
  const std::map<std::string_view, FailureClass> cases = {
      {"TransactionConflictException", kConflict},
      {"TransactionCanceledException", kConditional},
      {"ValidationException", kPermanent},
      {"AccessDeniedException", kAuth}};
  for (const auto& [code, kind] : cases) {
    Script(Refusal(code));
    const Told& told = CallRepeatable();
    EXPECT_TRUE(told.failed(kind)) << code;
    EXPECT_FALSE(told.failure().maybe_applied);
  }
  EXPECT_EQ(client_->stats().retries, 0U);
}

TEST_F(RetryingClientTest, GivesUpAfterItsAttemptsWithTheLastCause) {
  transport_.always = {Refusal("ThrottlingException")};
  const Told& told = Call();
  ASSERT_TRUE(told.failed(kThrottle));
  EXPECT_EQ(told.failure().attempts, 5);
  EXPECT_EQ(told.failure().message,
            "UpdateItem at h:8000: 400 ThrottlingException (after 5 attempts); that was the last "
            "attempt");
}

TEST_F(RetryingClientTest, AnAttemptHasATimeOutOfItsOwnWithinTheDeadline) {
  const Instant begin = scheduler_.clock().Now();
  Script(Good(), minutes(1));
  Script(Good(), milliseconds(1));
  EXPECT_TRUE(CallRepeatable().good());
  EXPECT_EQ(transport_.all_limits.front().DeadlineFrom(begin), Deadline::At(begin + seconds(1)));
  Script(Good(), minutes(1));
  const Deadline soon = Within(milliseconds(300));
  const Told& told = Call(true, soon);
  EXPECT_EQ(transport_.all_limits.back().DeadlineFrom(scheduler_.clock().Now()), soon);
  ASSERT_TRUE(told.failed(kAmbiguous));
  EXPECT_EQ(told.at, soon.at());
  EXPECT_TRUE(told.failure().maybe_applied);
}

TEST_F(RetryingClientTest, WhereNoTryFitsBeforeTheDeadlineItSaysTheCauseAtOnce) {
  transport_.always = {Refusal("ThrottlingException"), milliseconds(5)};
  for (int i = 0; i < 20; ++i) {
    const Deadline deadline = Within(milliseconds(40));
    const Told& told = Call(false, deadline);
    ASSERT_TRUE(told.failed(kThrottle)) << told.failure().message;
    EXPECT_LT(told.at, deadline.at());
    EXPECT_FALSE(told.failure().maybe_applied);
  }
}

TEST_F(RetryingClientTest, ADeadlineThatPassesDuringTheWaitIsSaidWithTheCause) {
  Script(Lost());
  const Told& told = Start(true, Within(milliseconds(100)));
  scheduler_.sim_clock().Advance(milliseconds(200));  // the thread was late
  scheduler_.RunAll();
  ASSERT_TRUE(told.failed(kDeadline));
  EXPECT_TRUE(told.failure().maybe_applied);
  EXPECT_EQ(told.failure().attempts, 1);
  EXPECT_THAT(told.failure().message, HasSubstr("closed by h; the deadline passed before another"));
}

TEST_F(RetryingClientTest, NothingIsSentAfterTheDeadline) {
  EXPECT_TRUE(Call(true, Within(nanoseconds(0))).failed(kDeadline));
  EXPECT_EQ(credentials_.asked, 0);
  for (const int credentials_take : {10, 20}) {
    credentials_.after = milliseconds(credentials_take);
    const Told& late = Call(true, Within(milliseconds(10)));
    EXPECT_TRUE(late.failed(kDeadline));
    EXPECT_EQ(late.failure().attempts, 0);
    EXPECT_FALSE(late.failure().maybe_applied);
  }
  EXPECT_TRUE(transport_.requests.empty());
}

TEST_F(RetryingClientTest, AConnectionThatNeverCameInTimeIsADeadlineAndNoDoubt) {
  Script(tl::unexpected(HttpFailure{false, true, "no connection to h"}), milliseconds(10));
  const Told& told = Call(true, Within(milliseconds(10)));
  ASSERT_TRUE(told.failed(kDeadline));
  EXPECT_FALSE(told.failure().maybe_applied);
}

TEST_F(RetryingClientTest, WaitingForAConnectionIsNoPartOfTheAttempt) {
  transport_.script.push_back({Good(), milliseconds(900), seconds(20)});
  const Instant begin = scheduler_.clock().Now();
  const Told& told = Call(false, Within(seconds(30)));
  ASSERT_TRUE(told.good()) << told.failure().message;
  EXPECT_EQ(told.at - begin, nanoseconds(milliseconds(20'900)));
  EXPECT_EQ(told.reply().attempts, 1);
  EXPECT_FALSE(told.reply().maybe_repeated);
}

TEST_F(RetryingClientTest, AfterAWaitForItsConnectionAnAttemptStillHasItsTimeAndNoMore) {
  transport_.script.push_back({Good(), minutes(1), seconds(20)});
  const Instant begin = scheduler_.clock().Now();
  const Told& told = Call();
  ASSERT_TRUE(told.failed(kAmbiguous));
  EXPECT_EQ(told.at - begin, nanoseconds(seconds(21)));
}

TEST_F(RetryingClientTest, WhileItWaitsForAConnectionTheDeadlineEndsIt) {
  transport_.script.push_back({Good(), milliseconds(1), seconds(20)});
  const Deadline deadline = Within(seconds(10));
  const Told& told = Call(true, deadline);
  ASSERT_TRUE(told.failed(kDeadline));
  EXPECT_EQ(told.at, deadline.at());
  EXPECT_EQ(told.failure().attempts, 1);
  EXPECT_FALSE(told.failure().maybe_applied);
}

TEST_F(RetryingClientTest, WhatWaitedTooLongIsSignedAnewAndCostsNoRetry) {
  JsonClientOptions options = Options();
  options.retry.max_attempts = 1;
  Make(options);
  const Instant begin = scheduler_.clock().Now();
  for (int i = 0; i < 3; ++i) transport_.script.push_back({Good(), milliseconds(1), minutes(9)});
  transport_.script.push_back({Good(), milliseconds(1), milliseconds(44'990)});
  const Told& told = Call(false, Within(minutes(10)));
  ASSERT_TRUE(told.good()) << told.failure().message;
  EXPECT_FALSE(told.reply().maybe_repeated);
  EXPECT_EQ(client_->stats().quota_refused, 0U);
  // Each one was signed when it was passed on, so that none is older than the service accepts.
  ASSERT_EQ(signer_.times.size(), 4U);
  for (std::size_t i = 1; i < signer_.times.size(); ++i) {
    EXPECT_EQ(signer_.times[i] - signer_.times[i - 1], kSignatureLife);
  }
  const Instant last = begin + 3 * kSignatureLife;
  EXPECT_EQ(told.at, last + milliseconds(44'991));
}

TEST_F(RetryingClientTest, WaitingEndsWithTheDeadlineHoweverOftenItWasSignedAnew) {
  transport_.always = {Good(), milliseconds(1), minutes(9)};
  const Deadline deadline = Within(seconds(100));
  const Told& told = Call(false, deadline);
  ASSERT_TRUE(told.failed(kDeadline));
  EXPECT_EQ(told.at, deadline.at());
  EXPECT_FALSE(told.failure().maybe_applied);
  EXPECT_THAT(told.failure().message, HasSubstr("no connection in time"));
}

TEST_F(RetryingClientTest, ATransportThatHasNoPatienceIsNotAskedForEver) {
  transport_.always = {tl::unexpected(HttpFailure{false, true, "no connection in time"})};
  const Told& told = Call();
  ASSERT_TRUE(told.failed(kTransient));
  EXPECT_EQ(told.failure().attempts, 5);
}

TEST_F(RetryingClientTest, AllCallsShareOneQuotaOfRetries) {
  JsonClientOptions options = Options();
  options.retry.quota = 20;
  Make(options);
  transport_.always = {Refusal("ThrottlingException")};
  EXPECT_EQ(Call().failure().attempts, 5);
  const Told& poor = Call();
  ASSERT_TRUE(poor.failed(kThrottle));
  EXPECT_EQ(poor.failure().attempts, 1);
  EXPECT_THAT(poor.failure().message, HasSubstr("quota of retries is used up"));
  EXPECT_EQ(client_->stats().quota_refused, 1U);
  transport_.always = {Good()};
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Call().good());
  Script(Refusal("ThrottlingException"));
  EXPECT_TRUE(Call().good()) << "five successes have earned one retry";
}

TEST_F(RetryingClientTest, AClockThatTheServiceRefusesIsCorrectedOnce) {
  const UnixMillis wall = scheduler_.clock().WallNow();
  Script(Dated(Refusal("InvalidSignatureException", 403), kTenMinutesLater));
  const Told& told = Call();
  ASSERT_TRUE(told.good());
  EXPECT_EQ(told.reply().attempts, 2);
  ASSERT_EQ(signer_.times.size(), 2U);
  EXPECT_EQ(signer_.times[0], wall);
  EXPECT_EQ((signer_.times[1] - wall).count(), 600'000 - 13);
  transport_.always = {Dated(Refusal("RequestTimeTooSkewed", 403), kTenMinutesLater)};
  const Told& stubborn = Call();
  EXPECT_TRUE(stubborn.failed(kAuth));
  EXPECT_EQ(stubborn.failure().attempts, 2);
}

// Fails if: the service's time is not taken from responses, or follows the wall clock.
TEST_F(RetryingClientTest, C4TheTimeOfTheServiceIsThatOfItsResponses) {
  EXPECT_FALSE(client_->ServerNow());
  EXPECT_TRUE(Call().good());
  EXPECT_FALSE(client_->ServerNow()) << "a response without a date";
  Script(Dated(Good(), kTenMinutesLater));
  EXPECT_TRUE(Call().good());
  EXPECT_FALSE(client_->ServerNow()) << "one response that the wall clock contradicts";
  Script(Dated(Good(), kTenMinutesLater));
  EXPECT_TRUE(Call().good());
  const auto now = client_->ServerNow();
  ASSERT_TRUE(now);
  const UnixMillis told{scheduler_.clock().WallNow().value + 600'000};
  EXPECT_LE(std::chrono::abs(*now - told), milliseconds(1'100));
  scheduler_.sim_clock().SetWall(UnixMillis{5});
  EXPECT_EQ(client_->ServerNow(), now);
}

TEST_F(RetryingClientTest, ABadSignatureUnderAGoodClockIsNotTriedAgain) {
  Script(Dated(Refusal("InvalidSignatureException", 403), "Thu, 01 Jan 2026 00:00:00 GMT"));
  const Told& told = Call();
  EXPECT_TRUE(told.failed(kAuth));
  EXPECT_EQ(told.failure().attempts, 1);
}

TEST_F(RetryingClientTest, AWrongClockThatIsToleratedIsCorrectedForTheNextCall) {
  Script(Dated(Good(), kTenMinutesLater));
  EXPECT_TRUE(Call().good());
  EXPECT_TRUE(Call().good());
  EXPECT_EQ((signer_.times[1] - signer_.times[0]).count(), 600'000 - 13);
}

TEST_F(RetryingClientTest, ExpiredCredentialsAreFetchedAnewOnce) {
  Script(Refusal("ExpiredTokenException"));
  EXPECT_TRUE(Call().good());
  EXPECT_EQ(KeyOf(0), "key-1");
  EXPECT_EQ(KeyOf(1), "key-2");
  transport_.always = {Refusal("ExpiredTokenException")};
  const Told& told = Call();
  ASSERT_TRUE(told.failed(kAuth));
  EXPECT_EQ(told.failure().attempts, 2);
  EXPECT_EQ(credentials_.asked, 4);
}

TEST_F(RetryingClientTest, WhoGaveCredentialsHearsThatTheyWereRefused) {
  for (const char* const code :
       {"ExpiredTokenException", "UnrecognizedClientException", "InvalidClientTokenId"}) {
    Script(Refusal(code));
    EXPECT_TRUE(Call().good()) << code;
  }
  EXPECT_THAT(credentials_.rejected, ElementsAre("key-1", "key-3", "key-5"));
  Script(Refusal("AccessDeniedException"));
  Script(Refusal("InvalidSignatureException", 403));
  EXPECT_TRUE(Call().failed(kAuth));
  EXPECT_TRUE(Call().failed(kAuth));
  EXPECT_EQ(credentials_.rejected.size(), 3U) << "these say nothing against the credentials";
}

TEST_F(RetryingClientTest, WhoGaveCredentialsHearsOfItEvenIfThereIsNoOtherTry) {
  Script(Refusal("ExpiredTokenException"), seconds(1) - milliseconds(1));
  EXPECT_TRUE(Call(false, Within(seconds(1))).failed(kAuth));
  EXPECT_THAT(credentials_.rejected, ElementsAre("key-1"));
}

TEST_F(RetryingClientTest, OneAttemptIsOneThatTheServiceCouldTake) {
  JsonClientOptions options = Options();
  options.retry.max_attempts = 1;
  Make(options);
  Script(Refusal("ExpiredTokenException"));
  Script(Dated(Refusal("RequestExpired"), kTenMinutesLater));
  EXPECT_TRUE(Call().good());
  EXPECT_EQ(transport_.requests.size(), 3U);
  EXPECT_THAT(credentials_.rejected, ElementsAre("key-1"));
  Script(Refusal("ThrottlingException"));
  EXPECT_TRUE(Call().failed(kThrottle));
}

TEST_F(RetryingClientTest, TheSameCredentialsAreNotTriedTwice) {
  Script(Refusal("ExpiredTokenException"));
  EXPECT_TRUE(Call().good());
  Script(Refusal("ExpiredTokenException"));
  credentials_.repeats = 2;
  const Told& told = Call();
  ASSERT_TRUE(told.failed(kAuth));
  EXPECT_EQ(told.failure().code, "ExpiredTokenException");
  EXPECT_EQ(told.failure().attempts, 1);
  EXPECT_EQ(told.failure().message,
            "UpdateItem at h:8000: 400 ExpiredTokenException; credentials that were fetched again "
            "are the same");
  EXPECT_EQ(transport_.requests.size(), 3U);
}

TEST_F(RetryingClientTest, ACacheGivesUpWhatWasRefused) {
  auto source = std::make_unique<ScriptedCredentials>(scheduler_);
  ScriptedCredentials& asked = *source;
  const auto cached = MakeCachedCredentials(std::move(source), scheduler_, 1);
  client_ = MakeJsonClient({transport_, signer_, *cached, scheduler_}, Options());
  EXPECT_TRUE(Call().good());
  Script(Refusal("ExpiredTokenException"));
  const Told& told = Call();
  ASSERT_TRUE(told.good()) << told.failure().message;
  EXPECT_EQ(KeyOf(1), "key-1");
  EXPECT_EQ(KeyOf(2), "key-2");
  EXPECT_EQ(asked.asked, 2);
}

// Fails if: the provider is not notified of the service's time, or is notified at each response.
TEST_F(RetryingClientTest, D15CredentialsLearnTheServicesTime) {
  for (int i = 0; i < 2; ++i) Script(Dated(Good(), "Thu, 01 Jan 2026 02:00:00 GMT"));
  EXPECT_TRUE(Call().good());
  EXPECT_THAT(credentials_.service_times, testing::IsEmpty()) << "the clocks do not agree";
  EXPECT_TRUE(Call().good());
  ASSERT_EQ(credentials_.service_times.size(), 1U);
  const UnixMillis two = scheduler_.clock().WallNow() + std::chrono::hours(2);
  EXPECT_LE(std::chrono::abs(credentials_.service_times[0] - two), seconds(2));
  for (int i = 0; i < 5; ++i) {
    Script(Dated(Good(), "Thu, 01 Jan 2026 02:00:00 GMT"));
    EXPECT_TRUE(Call().good());
  }
  EXPECT_EQ(credentials_.service_times.size(), 1U);
}

// Fails if: the client does not retry a throttled transaction with its backoff and its quota.
TEST_F(RetryingClientTest, D15AThrottledTransactionIsRetriedWithinTheQuota) {
  transport_.always = {
      HttpResponse{.status = 400,
                   .body = R"({"__type":"a#TransactionCanceledException","CancellationReasons":[)"
                           R"({"Code":"None"},{"Code":"ThrottlingError"}]})"}};
  JsonClientOptions options = Options();
  options.retry.quota = 3 * kRetryCost;
  Make(options);
  EXPECT_TRUE(CallRepeatable().failed(kThrottle));
  EXPECT_EQ(transport_.requests.size(), 4U) << "three retries were in the quota";
}

// Fails if: a throttled attempt is not reported because a later attempt succeeded.
TEST_F(RetryingClientTest, D8AThrottledKeyRangeIsReportedAlsoAfterASuccess) {
  const HttpResponse throttled{
      .status = 400,
      .body = R"({"__type":"a#ProvisionedThroughputExceededException","ThrottlingReasons":[)"
              R"({"reason":"TableWriteKeyRangeThroughputExceeded","resource":"arn"}]})"};
  Script(throttled);
  const Told& good = Call();
  ASSERT_TRUE(good.good());
  EXPECT_TRUE(good.reply().key_range_throttled);
  Script(throttled);
  Script(Refusal("ValidationException"));
  const Told& bad = Call();
  ASSERT_TRUE(bad.failed(kPermanent));
  EXPECT_TRUE(bad.failure().key_range_throttled);
  EXPECT_FALSE(Call().reply().key_range_throttled);
}

TEST_F(RetryingClientTest, NoCredentialsIsSaidWithTheirReason) {
  credentials_.errors.push_back({Code::kUnauthenticated, "asked environment and profile"});
  const Told& none = Call();
  ASSERT_TRUE(none.failed(kAuth));
  EXPECT_EQ(none.failure().message,
            "UpdateItem at h:8000: no credentials: asked environment and profile");
  EXPECT_EQ(none.failure().attempts, 0);
  credentials_.errors.push_back({Code::kDeadlineExceeded, "not in time"});
  EXPECT_TRUE(Call().failed(kDeadline));
  credentials_.errors.push_back({Code::kUnavailable, "the metadata service is away"});
  EXPECT_TRUE(Call().good()) << "tried again";
  EXPECT_EQ(transport_.requests.size(), 1U);
}

TEST_F(RetryingClientTest, WhatCannotBeSignedIsNotSent) {
  signer_.error = Error{Code::kInvalidArgument, "the key has a line break"};
  const Told& told = Call();
  ASSERT_TRUE(told.failed(kAuth));
  EXPECT_EQ(told.failure().message, "UpdateItem at h:8000: cannot sign: the key has a line break");
  EXPECT_TRUE(transport_.requests.empty());
}

TEST_F(RetryingClientTest, EqualSeedsWaitEqually) {
  const auto run = [&](std::uint64_t seed) {
    JsonClientOptions options = Options();
    options.seed = seed;
    Make(options);
    const Instant begin = scheduler_.clock().Now();
    transport_.always = {Refusal("ThrottlingException")};
    return Call().at - begin;
  };
  const nanoseconds first = run(4);
  EXPECT_EQ(run(4), first);
  EXPECT_NE(run(5), first);
}

TEST_F(RetryingClientTest, ACallOutlivesItsClient) {
  Script(Refusal("ThrottlingException"), milliseconds(1));
  const Told& told = Start(false, Deadline::Never());
  client_.reset();
  scheduler_.RunAll();
  EXPECT_TRUE(told.good());
}

TEST_F(RetryingClientTest, ADroppedCallIsAnsweredAsItStands) {
  auto scheduler = std::make_unique<sim::SimScheduler>();
  ScriptedTransport transport(*scheduler);
  const auto client = MakeJsonClient({transport, signer_, credentials_, *scheduler}, Options());
  std::map<std::string, std::vector<AwsFailure>> failures;
  const auto start = [&](const std::string& name, HttpResult response,
                         std::optional<nanoseconds> after) {
    transport.script.push_back({std::move(response), after});
    client->Call({name, "", false}, Deadline::Never(),
                 [&, name](const JsonResult& result) { failures[name].push_back(result.error()); });
  };
  start("waits", Unsent(), std::nullopt);
  start("is out", Good(), seconds(1));
  EXPECT_TRUE(failures.empty());
  scheduler.reset();
  ASSERT_EQ(failures["waits"].size(), 1U);
  EXPECT_EQ(failures["waits"][0].kind, kTransient);
  EXPECT_FALSE(failures["waits"][0].maybe_applied);
  ASSERT_EQ(failures["is out"].size(), 1U);
  EXPECT_EQ(failures["is out"][0].kind, kAmbiguous);
  EXPECT_TRUE(failures["is out"][0].maybe_applied);
}

TEST_F(RetryingClientTest, NoFailureTellsASecret) {
  HttpResponse telling = Refusal("InvalidSignatureException", 403);
  telling.body.insert(telling.body.size() - 1, R"(,"message":"SECRET and TOKEN")");
  Script(telling);
  const AwsFailure failure = Call().failure();
  for (const std::string& text : {failure.message, failure.body, ToError(failure).message}) {
    EXPECT_THAT(text, Not(HasSubstr("SECRET")));
    EXPECT_THAT(text, Not(HasSubstr("TOKEN")));
  }
}

}  // namespace
}  // namespace weir
