#include "weir/service/rate_limit_service.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "envoy/service/ratelimit/v3/rls.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "weir/grpc/message_reader.h"
#include "weir/grpc/server.h"
#include "weir/grpc/status_text.h"
#include "weir/http2/testing/http2_client_fixture.h"
#include "weir/limiter/testing/probe_backend.h"
#include "weir/rules/rules_file.h"
#include "weir/service/check_failure.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/memory/memory_backend.h"
#include "weir/telemetry/testing/recording_log_fixture.h"

namespace weir::service {
namespace {

using envoy::service::ratelimit::v3::RateLimitRequest;
using envoy::service::ratelimit::v3::RateLimitResponse;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kRules[] = R"(
domains:
  edge:
    rules:
      - match: user
        limits: {requests: 10/min}
      - match: {path: /shadow}
        limits: {requests: 1/min}
        shadow: true
      - match: {path: /always}
        limits: {tokens: 100/min}
        charge: always
      - match: {path: /free}
        unlimited: true
      - match: {path: /trial}
        limits: {requests: 100/min}
        replaces: [edge/user=*]
        shadow: true
      - match: {path: /costly}
        limits: {tokens: 100/min}
        amounts: {tokens: 30}
      - match: ghost
        entity: "{ghost}"
        resource: llm
        amounts: {rpm: 1}
        shadow: true
      - match: {path: /replacing}
        limits: {requests: 10/min}
        replaces: [edge/user=*]
      - match: tenant
        entity: "{tenant}"
        resource: llm
        amounts: {rpm: 1}
      - match: model
        entity: "{model}"
        resource: llm
        amounts: {rpm: 1, tpm: 0}
      - match: used
        entity: "{used}"
        resource: llm
        amounts: {tpm: 1}
        charge: always
)";

/// The request of one test, built step by step.
class Request {
 public:
  explicit Request(const std::string& domain = "edge") { message_.set_domain(domain); }
  /// Adds a descriptor of one entry.
  Request& Add(const std::string& key, const std::string& value) {
    auto* entry = message_.add_descriptors()->add_entries();
    entry->set_key(key);
    entry->set_value(value);
    return *this;
  }
  Request& AddEmpty() {
    message_.add_descriptors();
    return *this;
  }
  Request& Hits(std::uint64_t hits, bool is_negative = false) {
    auto& last = *message_.mutable_descriptors()->rbegin();
    last.mutable_hits_addend()->set_value(hits);
    last.set_is_negative_hits(is_negative);
    return *this;
  }
  Request& RequestHits(std::uint32_t hits) {
    message_.set_hits_addend(hits);
    return *this;
  }
  Request& Override(std::uint32_t requests, std::uint32_t multiplier = 1) {
    auto& limit = *message_.mutable_descriptors()->rbegin()->mutable_limit();
    limit.set_requests_per_unit(requests);
    limit.set_unit(envoy::type::v3::MINUTE);
    if (multiplier != 1) limit.mutable_unit_multiplier()->set_value(multiplier);
    return *this;
  }
  std::string Bytes() const { return message_.SerializeAsString(); }

 private:
  RateLimitRequest message_;
};

constexpr char kCheck[] = "/kuadrant.service.ratelimit.v1.RateLimitService/CheckRateLimit";
constexpr char kReport[] = "/kuadrant.service.ratelimit.v1.RateLimitService/Report";

class RateLimitServiceTest : public testing::Test {
 protected:
  RateLimitServiceTest() : RateLimitServiceTest({}, {}) {}
  RateLimitServiceTest(const BucketTableOptions& buckets, const LimiterOptions& limiter)
      : backend_(MakeMemoryBackend(buckets, &scheduler_.clock())),
        limiter_(probe_, scheduler_, limiter) {
    service_.SetRules(counts_by_name_.Activate(*rules::ParseRules(kRules, "rules.yaml")));
    service_.AddTo(methods_);
    client_.Exchange(Now());
  }

  Instant Now() const { return scheduler_.clock().Now(); }
  http2::Response Send(std::string_view method, const std::string& body,
                       const http2::Fields& more = {}) {
    http2::Fields fields = {{"content-type", "application/grpc"}};
    fields.insert(fields.end(), more.begin(), more.end());
    const auto id = client_.Post(method, grpc::MessagePrefix(body.size()) + body, fields);
    client_.Exchange(Now());
    scheduler_.RunReady();
    client_.Exchange(Now());
    return client_.response(id);
  }
  RateLimitResponse Ask(
      const Request& request,
      std::string_view method = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit") {
    const http2::Response response = Send(method, request.Bytes());
    EXPECT_EQ(response.fields.at("grpc-status"), "0") << response.fields.at("grpc-message");
    RateLimitResponse message;
    EXPECT_TRUE(message.ParseFromString(response.body.substr(5)));
    return message;
  }
  RateLimitResponse::Code CodeOf(const Request& request) { return Ask(request).overall_code(); }
  std::string ErrorOf(const Request& request) {
    const auto response =
        Send("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", request.Bytes());
    return fmt::format("{}: {}", response.fields.at("grpc-status"),
                       response.fields.at("grpc-message"));
  }

  static std::string ReasonIn(const http2::Response& response) {
    std::string bytes;
    google::rpc::Status status;
    google::rpc::ErrorInfo info;
    EXPECT_TRUE(absl::Base64Unescape(response.fields.at("grpc-status-details-bin"), &bytes) &&
                status.ParseFromString(bytes) && status.details(0).UnpackTo(&info));
    EXPECT_EQ(fmt::format("{}", status.code()), response.fields.at("grpc-status"));
    return info.reason();
  }
  std::string ReasonFor(const Request& request, const http2::Fields& more = {}) {
    return ReasonIn(Send("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
                         request.Bytes(), more));
  }

  sim::SimScheduler scheduler_;
  std::unique_ptr<Backend> backend_;
  ProbeBackend probe_{*backend_};
  Limiter limiter_;
  ServiceCounts counts_;
  RuleCountsByName counts_by_name_;
  RecordingLog log_;
  RequestLog request_log_{log_};
  ServiceOptions options_;
  RateLimitService service_{limiter_, counts_, request_log_, options_};
  grpc::MethodTable methods_;
  grpc::ServerCounts server_counts_;
  grpc::ServerTerms terms_{.methods = methods_, .connection = {}, .calls = {}};
  std::unique_ptr<transport::Connection> server_ = grpc::ServeConnection(
      terms_, server_counts_, {.peer = {}, .loop = scheduler_, .changed = [] {}});
  http2::Http2Client client_{*server_};
};

TEST_F(RateLimitServiceTest, AStatusHasTheLimitAndTheRemainingTokens) {
  const RateLimitResponse response = Ask(Request().Add("user", "ann"));
  EXPECT_EQ(response.overall_code(), RateLimitResponse::OK);
  ASSERT_EQ(response.statuses_size(), 1);
  const auto& status = response.statuses(0);
  EXPECT_EQ(status.code(), RateLimitResponse::OK);
  EXPECT_EQ(status.current_limit().requests_per_unit(), 10U);
  EXPECT_EQ(status.current_limit().unit(), RateLimitResponse::RateLimit::MINUTE);
  EXPECT_EQ(status.current_limit().name(), "edge/user=*");
  EXPECT_EQ(status.limit_remaining(), 9U);
  EXPECT_EQ(status.duration_until_reset().seconds(), 6);
}

TEST_F(RateLimitServiceTest, ARefusalHasTheTimeUntilTheRequestPasses) {
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(CodeOf(Request().Add("user", "ann")), RateLimitResponse::OK);
  const RateLimitResponse response = Ask(Request().Add("user", "ann"));
  EXPECT_EQ(response.overall_code(), RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(response.statuses(0).code(), RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(response.statuses(0).limit_remaining(), 0U);
  EXPECT_EQ(response.statuses(0).duration_until_reset().seconds(), 6);
  EXPECT_EQ(CodeOf(Request().Add("user", "bob")), RateLimitResponse::OK);
  scheduler_.Advance(seconds(6));
  EXPECT_EQ(CodeOf(Request().Add("user", "ann")), RateLimitResponse::OK);
}

TEST_F(RateLimitServiceTest, AllDescriptorsAreChargedOrNone) {
  Ask(Request().Add("user", "ann").Hits(10));
  const RateLimitResponse refused = Ask(Request().Add("user", "bob").Hits(4).Add("user", "ann"));
  EXPECT_EQ(refused.overall_code(), RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(refused.statuses(0).code(), RateLimitResponse::OK);
  EXPECT_EQ(refused.statuses(0).limit_remaining(), 10U);
  EXPECT_EQ(refused.statuses(1).code(), RateLimitResponse::OVER_LIMIT);
}

TEST_F(RateLimitServiceTest, TheAddendOfADescriptorOverridesThatOfTheRequest) {
  const RateLimitResponse response =
      Ask(Request().RequestHits(3).Add("user", "ann").Add("user", "bob").Hits(5));
  EXPECT_EQ(response.statuses(0).limit_remaining(), 7U);
  EXPECT_EQ(response.statuses(1).limit_remaining(), 5U);
}

// Fails if: more than a capacity is an error, which Envoy lets pass.
TEST_F(RateLimitServiceTest, MoreThanACapacityIsRefused) {
  const RateLimitResponse response = Ask(Request().Add("user", "ann").Hits(11));
  EXPECT_EQ(response.overall_code(), RateLimitResponse::OVER_LIMIT);
  EXPECT_FALSE(response.statuses(0).has_duration_until_reset());
  EXPECT_EQ(CodeOf(Request().Add("user", "ann").Hits(UINT64_MAX)), RateLimitResponse::OVER_LIMIT);
}

TEST_F(RateLimitServiceTest, ADescriptorWithNoHitsOnlyLooks) {
  EXPECT_EQ(Ask(Request().Add("user", "ann").Hits(0)).statuses(0).limit_remaining(), 10U);
  Ask(Request().Add("user", "ann").Hits(10));
  EXPECT_EQ(CodeOf(Request().Add("user", "ann").Hits(0)), RateLimitResponse::OVER_LIMIT);
}

// Fails if: a look refuses what a hit would be admitted for.
TEST_F(RateLimitServiceTest, ALookPassesALimitOfWhichAHitTakesNothing) {
  const LevelLimits limits{.limits = {{"rpm", PerMinute(10)}, {"tpm", PerMinute(100)}}};
  backend_->config().Apply({PutLimits{Level::System(), limits}}, Deadline::Never(), [](Status) {});
  EXPECT_EQ(CodeOf(Request().Add("used", "m").Hits(300)), RateLimitResponse::OK);
  EXPECT_EQ(CodeOf(Request().Add("model", "m")), RateLimitResponse::OK);
  EXPECT_EQ(CodeOf(Request().Add("model", "m").Hits(0)), RateLimitResponse::OK);
}

// Fails if: a look that finds too little does not stop the takes of its request.
TEST_F(RateLimitServiceTest, ALookThatIsOverItsLimitStopsTheTakes) {
  Ask(Request().Add("user", "ann").Hits(10));
  const RateLimitResponse response =
      Ask(Request().Add("user", "bob").Hits(4).Add("user", "ann").Hits(0));
  EXPECT_EQ(response.overall_code(), RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(Ask(Request().Add("user", "bob").Hits(0)).statuses(0).limit_remaining(), 10U);
  scheduler_.Advance(seconds(60));
  EXPECT_EQ(CodeOf(Request().Add("user", "bob").Hits(4).Add("user", "ann").Hits(0)),
            RateLimitResponse::OK);
  EXPECT_EQ(Ask(Request().Add("user", "bob").Hits(0)).statuses(0).limit_remaining(), 6U);
}

TEST_F(RateLimitServiceTest, NegativeHitsGiveBackUpToTheCapacity) {
  Ask(Request().Add("user", "ann").Hits(8));
  EXPECT_EQ(CodeOf(Request().Add("user", "ann").Hits(5, true)), RateLimitResponse::OK);
  EXPECT_EQ(Ask(Request().Add("user", "ann").Hits(0)).statuses(0).limit_remaining(), 7U);
  Ask(Request().Add("user", "ann").Hits(1'000'000, true));
  EXPECT_EQ(Ask(Request().Add("user", "ann").Hits(0)).statuses(0).limit_remaining(), 10U);
}

TEST_F(RateLimitServiceTest, RulesThatAlwaysChargeGoIntoDebt) {
  EXPECT_EQ(CodeOf(Request().Add("path", "/always").Hits(250)), RateLimitResponse::OK);
  EXPECT_EQ(CodeOf(Request().Add("path", "/always").Hits(250)), RateLimitResponse::OK);
  const RateLimitResponse look = Ask(Request().Add("path", "/always").Hits(0));
  EXPECT_EQ(look.overall_code(), RateLimitResponse::OVER_LIMIT);
  // A debt of 400, and the one hit of the look.
  EXPECT_EQ(look.statuses(0).duration_until_reset().seconds(), 241);
}

// Fails if: a refusal of another descriptor stops a charge without a decision.
TEST_F(RateLimitServiceTest, ARefusedRequestStillChargesRulesThatAlwaysCharge) {
  Ask(Request().Add("user", "ann").Hits(10));
  EXPECT_EQ(CodeOf(Request().Add("user", "ann").Add("path", "/always").Hits(60)),
            RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(Ask(Request().Add("path", "/always").Hits(0)).statuses(0).limit_remaining(), 40U);
}

TEST_F(RateLimitServiceTest, AShadowRuleNeverRefusesNorStopsOthers) {
  for (int i = 0; i < 3; ++i) {
    const RateLimitResponse response = Ask(Request().Add("path", "/shadow").Add("user", "ann"));
    EXPECT_EQ(response.overall_code(), RateLimitResponse::OK);
    EXPECT_EQ(response.statuses(0).code(), RateLimitResponse::OK);
  }
  EXPECT_EQ(Ask(Request().Add("user", "ann").Hits(0)).statuses(0).limit_remaining(), 7U);
  const auto counts = counts_by_name_.ByRule();
  EXPECT_EQ(counts.at({"edge", "edge/path=/shadow"})->shadow_over.Value(), 2U);
}

// Fails if: a slow shadow rule delays the response of rules that have taken their tokens.
TEST_F(RateLimitServiceTest, AResponseDoesNotWaitForAShadowRule) {
  const RuleCounts& counts = *counts_by_name_.ByRule().at({"edge", "edge/path=/shadow"});
  for (int i = 0; i < 2; ++i) {
    // The shadow rule is asked first, and only its result is held.
    probe_.hold = true;
    probe_.judge = [this](auto) -> std::optional<Decision> {
      probe_.hold = false;
      return std::nullopt;
    };
    const RateLimitResponse response = Ask(Request().Add("path", "/shadow").Add("user", "ann"));
    EXPECT_EQ(response.overall_code(), RateLimitResponse::OK);
    EXPECT_EQ(response.statuses(0).code(), RateLimitResponse::OK);
    EXPECT_FALSE(response.statuses(0).has_current_limit());
    EXPECT_EQ(response.statuses(1).limit_remaining(), 9U - static_cast<unsigned>(i));
    EXPECT_EQ(counts_.InFlight(), 1U);
    EXPECT_EQ(counts.within.Value() + counts.shadow_over.Value(), static_cast<unsigned>(i));
    probe_.Release();
    EXPECT_EQ(counts_.InFlight(), 0U);
  }
  EXPECT_EQ(counts.within.Value(), 1U);
  EXPECT_EQ(counts.shadow_over.Value(), 1U);
}

TEST_F(RateLimitServiceTest, AResponseWaitsForAShadowRuleIfThereIsNothingElse) {
  const RateLimitResponse response = Ask(Request().Add("path", "/shadow").Add("nothing", "x"));
  EXPECT_EQ(response.statuses(0).current_limit().requests_per_unit(), 1U);
  probe_.hold = true;
  const std::string body = Request().Add("path", "/shadow").Bytes();
  EXPECT_FALSE(
      Send("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", body).is_complete);
  probe_.Release();
  EXPECT_EQ(counts_.ok.Value(), 2U);
}

// Fails if: a charge that is lost is not an error because a shadow rule was decided beside it.
TEST_F(RateLimitServiceTest, AShadowRuleDoesNotHideALostCharge) {
  probe_.fail = Error{Code::kNotFound, "there is no table"};
  EXPECT_THAT(ErrorOf(Request().Add("path", "/always")), HasSubstr("5: "));
  EXPECT_THAT(ErrorOf(Request().Add("path", "/always").Add("path", "/shadow")), HasSubstr("5: "));
  EXPECT_EQ(counts_.lost_charges.Value(), 2U);
}

TEST_F(RateLimitServiceTest, DescriptorsWithoutARuleAndUnlimitedOnesPass) {
  const RateLimitResponse response = Ask(Request().Add("nothing", "x").Add("path", "/free"));
  EXPECT_EQ(response.overall_code(), RateLimitResponse::OK);
  ASSERT_EQ(response.statuses_size(), 2);
  EXPECT_EQ(response.statuses(0).code(), RateLimitResponse::OK);
  EXPECT_FALSE(response.statuses(0).has_current_limit());
  EXPECT_EQ(CodeOf(Request("other").Add("user", "ann")), RateLimitResponse::OK);
}

TEST_F(RateLimitServiceTest, AHitMayCostSeveralTokens) {
  EXPECT_EQ(Ask(Request().Add("path", "/costly")).statuses(0).limit_remaining(), 70U);
  Ask(Request().Add("path", "/costly").Hits(2));
  EXPECT_EQ(CodeOf(Request().Add("path", "/costly").Hits(0)), RateLimitResponse::OVER_LIMIT);
}

TEST_F(RateLimitServiceTest, LimitsMayComeFromTheFourLevels) {
  ASSERT_TRUE(
      limiter_.Apply({PutLimits{Level::Resource("llm"), {.limits = {*ParseLimit("rpm:2/min")}}}},
                     Deadline::Never()));
  EXPECT_EQ(Ask(Request().Add("tenant", "acme")).statuses(0).limit_remaining(), 1U);
  Ask(Request().Add("tenant", "acme"));
  EXPECT_EQ(CodeOf(Request().Add("tenant", "acme")), RateLimitResponse::OVER_LIMIT);
}

TEST_F(RateLimitServiceTest, ALimitInTheRequestReplacesThatOfTheRule) {
  const RateLimitResponse response = Ask(Request().Add("user", "ann").Override(3, 2));
  EXPECT_EQ(response.statuses(0).current_limit().requests_per_unit(), 3U);
  EXPECT_EQ(response.statuses(0).current_limit().unit_multiplier().value(), 2U);
  EXPECT_EQ(response.statuses(0).limit_remaining(), 2U);
  Ask(Request().Add("user", "ann").Override(3, 2).Hits(2));
  EXPECT_EQ(CodeOf(Request().Add("user", "ann").Override(3, 2)), RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(Ask(Request().Add("user", "ann")).statuses(0).limit_remaining(), 9U);
}

TEST_F(RateLimitServiceTest, BadRequestsAreRefusedWithTheCause) {
  EXPECT_THAT(ErrorOf(Request("").Add("user", "a")), HasSubstr("3: the domain"));
  EXPECT_THAT(ErrorOf(Request()), HasSubstr("3: the request has no descriptors"));
  EXPECT_THAT(ErrorOf(Request().Add("user", "a").Override(3, 0x7fffffff)),
              HasSubstr("unit_multiplier"));
  const auto response =
      Send("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", "\xff");
  EXPECT_EQ(response.fields.at("grpc-status"), "3");
}

TEST_F(RateLimitServiceTest, KuadrantsCheckChargesNothingAndItsReportAlwaysCharges) {
  const RateLimitResponse checked = Ask(Request().RequestHits(99).Add("user", "ann"), kCheck);
  EXPECT_EQ(checked.overall_code(), RateLimitResponse::OK);
  EXPECT_EQ(checked.statuses_size(), 0);
  EXPECT_EQ(Ask(Request().RequestHits(25).Add("user", "ann"), kReport).overall_code(),
            RateLimitResponse::OK);
  EXPECT_EQ(Ask(Request().Add("user", "ann"), kCheck).overall_code(),
            RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(Ask(Request().Add("user", "ann").Hits(0)).statuses(0).duration_until_reset().seconds(),
            96);
}

TEST_F(RateLimitServiceTest, ACallerNeedsATokenIfThereAreTokens) {
  service_.SetTokens(std::make_shared<const AccessTokens>(*ParseAccessTokens(
      "tokens:\n  - name: envoy\n    scopes: [decide]\n    sha256: "
      "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\n",  // of "secret"
      "tokens.yaml")));
  constexpr char kMethod[] = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
  const std::string body = Request().Add("user", "ann").Bytes();
  EXPECT_EQ(Send(kMethod, body).fields.at("grpc-status"), "16");
  EXPECT_EQ(Send(kMethod, body, {{"authorization", "Bearer wrong"}}).fields.at("grpc-status"),
            "16");
  EXPECT_EQ(Send(kMethod, body, {{"authorization", "Bearer secret"}}).fields.at("grpc-status"),
            "0");
  service_.SetTokens(nullptr);
  EXPECT_EQ(Ask(Request().Add("user", "ann").Hits(0)).statuses(0).limit_remaining(), 9U);
}

// Fails if: a caller that has given up is charged.
TEST_F(RateLimitServiceTest, ACallPastItsDeadlineIsNotCharged) {
  const auto late = Send("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
                         Request().Add("user", "ann").Bytes(), {{"grpc-timeout", "0m"}});
  EXPECT_EQ(late.fields.at("grpc-status"), "4");
  const auto report = Send("/kuadrant.service.ratelimit.v1.RateLimitService/Report",
                           Request().Add("user", "ann").Bytes(), {{"grpc-timeout", "0m"}});
  EXPECT_EQ(report.fields.at("grpc-status"), "4");
  EXPECT_EQ(Ask(Request().Add("user", "ann").Hits(0)).statuses(0).limit_remaining(), 10U);
}

// Fails if: one byte of a header, which a client chooses, lifts the limits of its request.
TEST_F(RateLimitServiceTest, ValuesMayBeAnyBytes) {
  const std::string bytes("\xff\0|", 3);
  Ask(Request().Add("user", bytes).Hits(10));
  EXPECT_EQ(CodeOf(Request().Add("user", bytes)), RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(CodeOf(Request().Add("user", "\xfe")), RateLimitResponse::OK);
}

// Envoy sends a descriptor without entries for a header that is absent.
TEST_F(RateLimitServiceTest, ADescriptorWithoutEntriesHasNoLimitAndStopsNone) {
  Ask(Request().Add("user", "ann").Hits(10));
  const RateLimitResponse response = Ask(Request().AddEmpty().Add("user", "ann"));
  EXPECT_EQ(response.overall_code(), RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(response.statuses(0).code(), RateLimitResponse::OK);
}

// Fails if: a value that a client chooses makes the request an error, which Envoy lets pass.
TEST_F(RateLimitServiceTest, ADescriptorWhoseLimitsAreNotSetIsRefused) {
  EXPECT_EQ(CodeOf(Request().Add("user", "ann").Add("tenant", "nobody")),
            RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(Ask(Request().Add("user", "ann").Hits(0)).statuses(0).limit_remaining(), 10U);
  EXPECT_EQ(counts_.undecided.Value(), 1U);
  EXPECT_THAT(log_.lines(),
              ElementsAre(AllOf(HasSubstr("warning service.undecided"), HasSubstr("nobody"))));
}

// Fails if: a rule is blamed for limits that are missing in another descriptor of its request.
TEST_F(RateLimitServiceTest, TheRuleThatCannotBeDecidedIsNamedAndCounted) {
  const RateLimitResponse response = Ask(Request().Add("user", "ann").Add("tenant", "nobody"));
  EXPECT_EQ(response.overall_code(), RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(response.statuses(0).code(), RateLimitResponse::OK);
  EXPECT_EQ(response.statuses(1).code(), RateLimitResponse::OVER_LIMIT);
  EXPECT_THAT(log_.lines(), ElementsAre(HasSubstr("service.undecided rule=edge/tenant=* message")));
  const RuleCounts& user = *counts_by_name_.ByRule().at({"edge", "edge/user=*"});
  EXPECT_EQ(user.over.Value() + user.hits_over.Value() + user.undecided.Value(), 0U);
  const RuleCounts& tenant = *counts_by_name_.ByRule().at({"edge", "edge/tenant=*"});
  EXPECT_EQ(tenant.over.Value() + tenant.hits_over.Value(), 0U);
  EXPECT_EQ(tenant.undecided.Value(), 1U);
}

TEST_F(RateLimitServiceTest, NoRuleIsNamedIfTheOneThatCannotBeDecidedIsNotKnown) {
  probe_.fail = Error{Code::kDataLoss, "bucket ann/edge: its item is damaged"};
  const RateLimitResponse response = Ask(Request().Add("user", "ann").Add("path", "/costly"));
  EXPECT_EQ(response.overall_code(), RateLimitResponse::OVER_LIMIT);
  EXPECT_THAT(log_.lines(), ElementsAre(HasSubstr("service.undecided message=bucket")));
  for (const char* rule : {"edge/user=*", "edge/path=/costly"}) {
    const RuleCounts& counts = *counts_by_name_.ByRule().at({"edge", rule});
    EXPECT_EQ(counts.over.Value(), 0U);
    EXPECT_EQ(counts.undecided.Value(), 1U);
  }
}

// Fails if: a request whose limits are damaged is an error, which Envoy lets pass without limits.
TEST_F(RateLimitServiceTest, ADescriptorWhoseLimitsAreDamagedIsRefused) {
  probe_.fail = Error{Code::kDataLoss, "resource api: its limits are damaged"};
  EXPECT_EQ(CodeOf(Request().Add("user", "ann")), RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(counts_.undecided.Value(), 1U);
}

// Fails if: a table that does not exist is a refusal of every request.
TEST_F(RateLimitServiceTest, AnErrorOfTheWholeStoreIsNoRefusal) {
  probe_.fail = Error{Code::kNotFound, "there is no table"};
  EXPECT_THAT(ErrorOf(Request().Add("user", "ann")), HasSubstr("5: there is no table"));
  EXPECT_EQ(counts_.undecided.Value(), 0U);
}

// Fails if: a caller learns that its own token is refused, when the store refuses the service.
TEST_F(RateLimitServiceTest, AStoreThatRefusesTheServiceIsUnavailable) {
  for (const Code code : {Code::kPermissionDenied, Code::kUnauthenticated, Code::kUnknown}) {
    probe_.fail = Error{code, "not allowed"};
    EXPECT_THAT(ErrorOf(Request().Add("user", "ann")), HasSubstr("14: not allowed"));
  }
  EXPECT_EQ(counts_.undecided.Value(), 0U);
}

// Fails if: a bucket that cannot be used makes its requests errors, which Envoy lets pass.
TEST_F(RateLimitServiceTest, AnErrorOfOneBucketIsARefusal) {
  for (const Code code : {Code::kFailedPrecondition, Code::kOutOfRange, Code::kResourceExhausted}) {
    probe_.fail = Error{code, "bucket ann/edge cannot be used"};
    EXPECT_EQ(CodeOf(Request().Add("user", "ann")), RateLimitResponse::OVER_LIMIT);
  }
  EXPECT_EQ(counts_.undecided.Value(), 3U);
}

/// A store with space for three buckets, which a client has filled with values that it chose.
class FullStoreTest : public RateLimitServiceTest {
 protected:
  FullStoreTest()
      : RateLimitServiceTest({.max_buckets = 3}, {.on_unavailable = OnUnavailable::kAllow}) {
    for (const char* junk : {"a", "b", "c"}) {
      EXPECT_EQ(CodeOf(Request().Add("user", junk)), RateLimitResponse::OK);
    }
  }
};

// Fails if: a store without space counts as unavailable, so that its policy admits each request.
TEST_F(FullStoreTest, C17AdmitsNoRequestWithoutABucket) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(CodeOf(Request().Add("user", "victim")), RateLimitResponse::OVER_LIMIT);
    scheduler_.Advance(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(counts_.unprotected.Value(), 0U);
  EXPECT_EQ(counts_.undecided.Value(), 20U);
  EXPECT_EQ(CodeOf(Request().Add("user", "a")), RateLimitResponse::OK);
}

// Fails if: a look passes for which the charge that follows has no space, and is lost.
TEST_F(FullStoreTest, C17RefusesALookAtABucketThatCannotBeCharged) {
  EXPECT_EQ(CodeOf(Request().Add("path", "/always").Hits(0)), RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(Ask(Request().Add("path", "/always"), kCheck).overall_code(),
            RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(CodeOf(Request().Add("user", "a").Hits(0)), RateLimitResponse::OK);
  // The buckets of the client are full, and have been for a minute: they leave.
  scheduler_.Advance(seconds(200));
  EXPECT_EQ(CodeOf(Request().Add("path", "/always").Hits(0)), RateLimitResponse::OK);
  EXPECT_EQ(CodeOf(Request().Add("path", "/always").Hits(100)), RateLimitResponse::OK);
  EXPECT_EQ(CodeOf(Request().Add("path", "/always").Hits(0)), RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(counts_.lost_charges.Value(), 0U);
}

TEST_F(RateLimitServiceTest, AShadowRuleWithoutLimitsStopsNoneAndIsNotWithin) {
  EXPECT_EQ(CodeOf(Request().Add("ghost", "x").Add("user", "ann")), RateLimitResponse::OK);
  EXPECT_EQ(CodeOf(Request().Add("ghost", "x").Hits(0).Add("user", "ann")), RateLimitResponse::OK);
  const auto& counts = *counts_by_name_.ByRule().at({"edge", "edge/ghost=*"});
  EXPECT_EQ(counts.undecided.Value(), 2U);
  EXPECT_EQ(counts.within.Value(), 0U);
}

// Fails if: a charge that was made is an error, which the caller repeats.
TEST_F(RateLimitServiceTest, AChargeThatCountsInPartIsNoError) {
  probe_.fail = Error{.code = Code::kFailedPrecondition, .message = "disabled", .is_partial = true};
  EXPECT_EQ(Ask(Request().Add("user", "ann").Add("user", "bob"), kReport).overall_code(),
            RateLimitResponse::OK);
  EXPECT_EQ(counts_.lost_charges.Value(), 1U);
}

// Fails if: a rule that is tried out takes the limit away that it is to replace.
TEST_F(RateLimitServiceTest, AShadowRuleReplacesNoEnforcedRule) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(CodeOf(Request().Add("user", "ann").Add("path", "/trial")), RateLimitResponse::OK);
  }
  EXPECT_EQ(CodeOf(Request().Add("user", "ann").Add("path", "/trial")),
            RateLimitResponse::OVER_LIMIT);
}

// Fails if: events of shadow rules hide that a rule refuses its requests.
TEST_F(RateLimitServiceTest, AShadowRuleThatIsUndecidedHasAnEventOfItsOwn) {
  Ask(Request().Add("ghost", "x").Add("user", "ann"));
  Ask(Request().Add("tenant", "nobody"));
  EXPECT_THAT(log_.lines(), ElementsAre(HasSubstr("service.shadow_undecided rule=edge/ghost=*"),
                                        HasSubstr("service.undecided rule=edge/tenant=*")));
}

// Fails if: a client that adds a descriptor without limits escapes the charges of the others.
TEST_F(RateLimitServiceTest, AChargeThatCannotBeMadeDoesNotSaveTheOthers) {
  for (const char* key : {"tenant", "ghost"}) {
    EXPECT_EQ(Ask(Request().Add("user", "ann").Add(key, "nobody"), kReport).overall_code(),
              RateLimitResponse::OK);
  }
  EXPECT_EQ(Ask(Request().Add("user", "ann").Hits(0)).statuses(0).limit_remaining(), 8U);
  EXPECT_EQ(counts_.lost_charges.Value(), 1U) << "that of the rule that is no shadow";
  const auto& counts = *counts_by_name_.ByRule().at({"edge", "edge/ghost=*"});
  EXPECT_EQ(counts.undecided.Value(), 1U);
  EXPECT_EQ(counts.within.Value(), 0U);
  const auto none = Send(kReport, Request().Add("tenant", "nobody").Bytes());
  EXPECT_EQ(none.fields.at("grpc-status"), "3") << "no charge was made";
}

// Fails if: a debt that is too large saves the other charges, or the others count twice.
TEST_F(RateLimitServiceTest, ADebtThatIsTooLargeDoesNotSaveTheOtherCharges) {
  const Request most = Request().Add("path", "/always").Hits(UINT64_MAX);
  for (int i = 0; i <= kMaxDebt / kMaxMillitokens; ++i) Send(kReport, most.Bytes());
  for (int i = 0; i < 2; ++i) {
    Ask(Request().Add("user", "ann").Add("path", "/always").Hits(UINT64_MAX), kReport);
  }
  EXPECT_EQ(Ask(Request().Add("user", "ann").Hits(0)).statuses(0).limit_remaining(), 8U);
}

// As in envoyproxy/ratelimit: the limit of a request is no shadow, is decided, and is not replaced.
TEST_F(RateLimitServiceTest, ALimitInTheRequestDoesNotHaveTheTermsOfTheRule) {
  for (const char* path : {"/shadow", "/always"}) {
    EXPECT_EQ(CodeOf(Request().Add("path", path).Override(1)), RateLimitResponse::OK);
    EXPECT_EQ(CodeOf(Request().Add("path", path).Override(1)), RateLimitResponse::OVER_LIMIT);
  }
  Request replaced;
  replaced.Add("path", "/replacing").Add("user", "ann").Override(1);
  EXPECT_EQ(CodeOf(replaced), RateLimitResponse::OK);
  EXPECT_EQ(CodeOf(replaced), RateLimitResponse::OVER_LIMIT);
  Request replacing;
  replacing.Add("path", "/replacing").Override(1).Add("user", "bob");
  EXPECT_EQ(CodeOf(replacing), RateLimitResponse::OK);
  EXPECT_EQ(Ask(Request().Add("user", "bob").Hits(0)).statuses(0).limit_remaining(), 9U);
}

// Fails if: sums of hits overflow, so that a counter goes back.
TEST_F(RateLimitServiceTest, CountersOfHitsDoNotGoBack) {
  std::uint64_t before = 0;
  for (int i = 0; i < 3; ++i) {
    Ask(Request().Add("path", "/always").Hits(UINT64_MAX));
    const auto counts = counts_by_name_.ByRule().at({"edge", "edge/path=/always"});
    EXPECT_GT(counts->hits_within.Value(), before);
    before = counts->hits_within.Value();
  }
}

// limitador counts a request in its check, not again in its report.
TEST_F(RateLimitServiceTest, AReportIsNoFurtherRequestOfItsDomain) {
  Ask(Request().Add("user", "ann"), kCheck);
  Ask(Request().Add("user", "ann"), kReport);
  EXPECT_EQ(counts_by_name_.ByDomain().at("edge")->admitted.Value(), 1U);
}

// Fails if: looks are judged again after the takes, and refuse charged requests.
TEST_F(RateLimitServiceTest, ALookAndATakeOfTheLastTokenPass) {
  Ask(Request().Add("user", "ann").Hits(9));
  EXPECT_EQ(CodeOf(Request().Add("user", "ann").Add("user", "ann").Hits(0)), RateLimitResponse::OK);
  EXPECT_EQ(CodeOf(Request().Add("user", "ann").Hits(0)), RateLimitResponse::OVER_LIMIT);
}

// Fails if: a decision, and so its caller, waits for a charge without a decision.
TEST_F(RateLimitServiceTest, ADecisionDoesNotWaitForACharge) {
  probe_.hold_adjusts = true;
  Ask(Request().Add("user", "ann").Hits(10));
  EXPECT_EQ(CodeOf(Request().Add("user", "ann").Add("path", "/always").Hits(5)),
            RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(counts_.InFlight(), 1U);
  probe_.Release();
  EXPECT_EQ(counts_.InFlight(), 0U);
}

TEST_F(RateLimitServiceTest, TakesThatARefusalLeavesOutAreNotWithin) {
  Ask(Request().Add("user", "ann").Hits(10));
  Ask(Request().Add("path", "/costly").Add("user", "ann").Hits(3));
  const auto counts = counts_by_name_.ByRule();
  EXPECT_EQ(counts.at({"edge", "edge/path=/costly"})->within.Value(), 0U);
  const RuleCounts& user = *counts.at({"edge", "edge/user=*"});
  EXPECT_EQ(user.within.Value(), 1U);
  EXPECT_EQ(user.hits_within.Value(), 10U);
  EXPECT_EQ(user.over.Value(), 1U);
  EXPECT_EQ(user.hits_over.Value(), 3U);
  const DomainCounts& domain = *counts_by_name_.ByDomain().at("edge");
  EXPECT_EQ(domain.admitted.Value(), 1U);
  EXPECT_EQ(domain.refused.Value(), 1U);
}

// As in envoyproxy/ratelimit: a limit of the request counts in every domain that has rules.
TEST_F(RateLimitServiceTest, ALimitInTheRequestNeedsNoRule) {
  for (const char* key : {"nothing", "path"}) {
    const std::string value = std::string(key) == "path" ? "/free" : "x";
    EXPECT_EQ(CodeOf(Request().Add(key, value).Override(1)), RateLimitResponse::OK);
    EXPECT_EQ(CodeOf(Request().Add(key, value).Override(1)), RateLimitResponse::OVER_LIMIT);
    EXPECT_EQ(CodeOf(Request().Add(key, value + "2").Override(1)), RateLimitResponse::OK);
  }
  EXPECT_EQ(CodeOf(Request("other").Add("x", "y").Override(0)), RateLimitResponse::OK);
}

// Fails if: a limit that blocks refuses a descriptor that takes nothing from it, after a charge.
TEST_F(RateLimitServiceTest, ALimitThatBlocksDoesNotRefuseAnAmountOfNothing) {
  service_.SetRules(counts_by_name_.Activate(
      *rules::ParseRules("domains: {edge: {rules: [{match: t, entity: '{t}', resource: llm, "
                         "amounts: {rpm: 1, tpm: 0}}]}}",
                         "rules.yaml")));
  ASSERT_TRUE(
      limiter_.Apply({PutLimits{Level::Resource("llm"),
                                {.limits = {*ParseLimit("rpm:5/min"), *ParseLimit("tpm:0")}}}},
                     Deadline::Never()));
  const RateLimitResponse response = Ask(Request().Add("t", "acme"));
  EXPECT_EQ(response.overall_code(), RateLimitResponse::OK);
  EXPECT_EQ(response.statuses(0).limit_remaining(), 4U);
}

// Fails if: an operator cannot find the request of an error in the log of the proxy that sent it.
TEST_F(RateLimitServiceTest, AFailureIsLoggedWithTheIdsOfItsRequest) {
  probe_.fail = Error{Code::kUnavailable, "no store", seconds(2)};
  const auto response =
      Send("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
           Request().Add("user", "ann").Bytes(),
           {{"x-request-id", "7f3a"},
            {"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}});
  EXPECT_EQ(response.fields.at("grpc-status"), "14");
  EXPECT_EQ(response.fields.at("grpc-retry-pushback-ms"), "2000");
  EXPECT_EQ(response.fields.at("grpc-status-details-bin"),
            grpc::EncodeBinaryHeader(DetailsOf(*probe_.fail, FailureReason::kStoreFailed).status));
  EXPECT_THAT(log_.lines(), ElementsAre("warning service.request_failed reason=STORE_FAILED "
                                        "code=UNAVAILABLE "
                                        "message=no store request_id=7f3a "
                                        "trace_id=4bf92f3577b34da6a3ce929d0e0e4736 suppressed=0"));
}

TEST_F(RateLimitServiceTest, AnErrorHasItsReason) {
  const Request ann = Request().Add("user", "ann");
  EXPECT_EQ(ReasonFor(Request()), "REQUEST_INVALID");
  EXPECT_EQ(ReasonFor(ann, {{"grpc-timeout", "0n"}}), "TIME_OVER");
  probe_.fail = Error{Code::kUnavailable, "no store"};
  EXPECT_EQ(ReasonFor(ann), "STORE_FAILED");
  probe_.fail = Error{Code::kDeadlineExceeded, "late"};
  EXPECT_EQ(ReasonFor(ann), "STORE_LATE");
  service_.SetRules(nullptr);
  EXPECT_EQ(ReasonFor(ann), "NO_RULES");
  service_.SetTokens(std::make_shared<const AccessTokens>(std::vector<AccessToken>()));
  EXPECT_EQ(ReasonFor(ann), "TOKEN_REFUSED");
}

// Fails if: a program takes limits that are not set for a failure of the store.
TEST_F(RateLimitServiceTest, AChargeThatCannotBeDecidedIsTheRequestsFault) {
  EXPECT_EQ(ReasonIn(Send("/kuadrant.service.ratelimit.v1.RateLimitService/Report",
                          Request().Add("tenant", "nobody").Bytes())),
            "REQUEST_INVALID");
}

// Fails if: one request that is wrong in each ten seconds hides that the store fails.
TEST_F(RateLimitServiceTest, EachReasonIsLogged) {
  ErrorOf(Request());
  probe_.fail = Error{Code::kUnavailable, "no store"};
  ErrorOf(Request().Add("user", "ann"));
  EXPECT_THAT(log_.lines(), ElementsAre(HasSubstr("REQUEST_INVALID"), HasSubstr("STORE_FAILED")));
}

// Fails if: requests that fail fill the log.
TEST_F(RateLimitServiceTest, FailuresAreLoggedOnceInTenSeconds) {
  for (int i = 0; i < 5; ++i) ErrorOf(Request());
  EXPECT_EQ(log_.lines().size(), 1U);
  scheduler_.Advance(seconds(10));
  ErrorOf(Request());
  ASSERT_EQ(log_.lines().size(), 2U);
  EXPECT_THAT(log_.lines()[1], HasSubstr("suppressed=4"));
}

TEST_F(RateLimitServiceTest, ARefusedTokenIsLoggedWithoutIt) {
  service_.SetTokens(std::make_shared<const AccessTokens>(std::vector<AccessToken>()));
  const auto response = Send("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
                             Request().Add("user", "ann").Bytes(),
                             {{"authorization", "Bearer hunter2"}, {"x-request-id", "7f3a"}});
  EXPECT_EQ(response.fields.at("grpc-status"), "16");
  EXPECT_THAT(log_.lines(),
              ElementsAre(AllOf(HasSubstr("warning service.denied"), HasSubstr("request_id=7f3a"),
                                testing::Not(HasSubstr("hunter2")))));
}

TEST_F(RateLimitServiceTest, RequestsInFlightAreBounded) {
  RateLimitService service(limiter_, counts_, request_log_, {.max_in_flight = 2});
  service.SetRules(counts_by_name_.Activate(*rules::ParseRules(kRules, "rules.yaml")));
  service.AddTo(methods_);
  probe_.hold = true;
  const std::string body = Request().Add("user", "ann").Bytes();
  constexpr char kMethod[] = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
  for (int i = 0; i < 2; ++i) Send(kMethod, body, {{"grpc-timeout", "1H"}});
  const http2::Response refused = Send(kMethod, body);
  EXPECT_EQ(refused.fields.at("grpc-status"), "8");
  EXPECT_EQ(ReasonIn(refused), "OVERLOADED");
  EXPECT_EQ(counts_.overloaded.Value(), 1U);
  probe_.Release();
}

// Fails if: all requests in flight may outlive their response, however many do already.
TEST_F(RateLimitServiceTest, RequestsThatMayOutliveTheirResponseAreBounded) {
  RateLimitService service(limiter_, counts_, request_log_, {.max_detached = 1});
  service.SetRules(counts_by_name_.Activate(*rules::ParseRules(kRules, "rules.yaml")));
  service.AddTo(methods_);
  probe_.hold = true;
  constexpr char kMethod[] = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
  const std::string body = Request().Add("path", "/shadow").Add("user", "ann").Bytes();
  for (int i = 0; i < 2; ++i) Send(kMethod, body, {{"grpc-timeout", "1H"}});
  probe_.Release();
  EXPECT_EQ(counts_.ok.Value(), 2U);
  const RuleCounts& shadow = *counts_by_name_.ByRule().at({"edge", "edge/path=/shadow"});
  EXPECT_EQ(shadow.undecided.Value(), 1U) << "that of the second is left out";
}

// Fails if: requests that have their response, but whose shadow rule waits for a slow bucket, make
// the service refuse others, which Envoy then lets pass.
TEST_F(RateLimitServiceTest, ALateShadowRuleTakesNoSpaceOfOtherRequests) {
  RateLimitService service(limiter_, counts_, request_log_,
                           {.max_in_flight = 1, .max_detached = 2});
  service.SetRules(counts_by_name_.Activate(*rules::ParseRules(kRules, "rules.yaml")));
  service.AddTo(methods_);
  for (int i = 0; i < 2; ++i) {
    probe_.hold = true;
    probe_.judge = [this](auto) -> std::optional<Decision> {
      probe_.hold = false;
      return std::nullopt;
    };
    EXPECT_EQ(CodeOf(Request().Add("path", "/shadow").Add("user", "ann")), RateLimitResponse::OK);
  }
  EXPECT_EQ(CodeOf(Request().Add("path", "/shadow").Add("user", "ann")), RateLimitResponse::OK);
  const RuleCounts& shadow = *counts_by_name_.ByRule().at({"edge", "edge/path=/shadow"});
  EXPECT_EQ(shadow.undecided.Value(), 1U) << "it is left out";
  EXPECT_EQ(counts_by_name_.ByRule().at({"edge", "edge/user=*"})->within.Value(), 3U);
  EXPECT_EQ(counts_.InFlight(), 2U);
  probe_.Release();
  EXPECT_EQ(counts_.InFlight(), 0U);
  EXPECT_EQ(shadow.within.Value() + shadow.shadow_over.Value(), 2U);
  EXPECT_EQ(counts_.overloaded.Value(), 0U);
}

// Fails if: a charge that fails after the response counts as made.
TEST_F(RateLimitServiceTest, AChargeThatFailsAfterTheResponseIsUndecided) {
  const auto always = [] { return Request().Add("path", "/always").Hits(UINT64_MAX); };
  while (counts_.lost_charges.Value() == 0) {
    Send("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", always().Bytes());
  }
  const RuleCounts& counts = *counts_by_name_.ByRule().at({"edge", "edge/path=/always"});
  const std::uint64_t within = counts.within.Value();
  probe_.hold_adjusts = true;
  EXPECT_EQ(CodeOf(always().Add("user", "ann")), RateLimitResponse::OK);
  EXPECT_EQ(counts.undecided.Value(), 0U);
  probe_.Release();
  EXPECT_EQ(counts.undecided.Value(), 1U);
  EXPECT_EQ(counts.within.Value(), within);
}

// Fails if: a refusal without a cause (other processes write to the bucket) looks admitted.
TEST_F(RateLimitServiceTest, AContendedRequestIsRefused) {
  probe_.decide = Decision{.retry_after = milliseconds(100), .limits = {}, .contended = true};
  const RateLimitResponse response = Ask(Request().Add("user", "ann").Add("nothing", "x"));
  EXPECT_EQ(response.overall_code(), RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(response.statuses(0).code(), RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(response.statuses(1).code(), RateLimitResponse::OK);
}

// Fails if: a decision that has been made, and charged, is reported as an error.
TEST_F(RateLimitServiceTest, AChargeThatFailsInARequestWithADecisionIsCounted) {
  while (counts_.lost_charges.Value() == 0) {
    Send("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
         Request().Add("path", "/always").Hits(UINT64_MAX).Bytes());
  }
  EXPECT_THAT(ErrorOf(Request().Add("path", "/always").Hits(UINT64_MAX)), HasSubstr("11: "));
  EXPECT_EQ(CodeOf(Request().Add("user", "ann").Add("path", "/always").Hits(UINT64_MAX)),
            RateLimitResponse::OK);
  EXPECT_EQ(counts_.lost_charges.Value(), 3U);
  EXPECT_THAT(log_.lines(), testing::Contains(HasSubstr("warning service.charge_lost")));
}

// Fails if: a result of the store that arrives after the caller has gone touches its call.
TEST_F(RateLimitServiceTest, AResultAfterTheCallerHasGoneIsCountedAndDropped) {
  probe_.hold = true;
  const std::string body = Request().Add("user", "ann").Bytes();
  const auto id =
      client_.Post("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
                   grpc::MessagePrefix(body.size()) + body, {{"content-type", "application/grpc"}});
  client_.Exchange(Now());
  EXPECT_EQ(counts_.InFlight(), 1U);
  client_.Reset(id);
  client_.Exchange(Now());
  EXPECT_EQ(counts_.InFlight(), 1U) << "the store still works on it";
  server_.reset();
  probe_.Release();
  EXPECT_EQ(counts_.InFlight(), 0U);
}

// Fails if: a caller that has time left, or no deadline, gets the deadline of the store's calls.
TEST_F(RateLimitServiceTest, AStoreThatIsTooSlowIsUnavailable) {
  probe_.fail = Error{Code::kDeadlineExceeded, "the table did not answer in time"};
  EXPECT_THAT(ErrorOf(Request().Add("user", "ann")), HasSubstr("14: "));
}

}  // namespace
}  // namespace weir::service
