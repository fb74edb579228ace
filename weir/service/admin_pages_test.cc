#include "weir/service/admin_pages.h"

#include <gtest/gtest.h>

#include <string>

#include "weir/codec/sha256.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/telemetry/testing/recording_log_fixture.h"

namespace weir::service {
namespace {

AccessTokensPtr Tokens(std::string_view token, std::string_view more) {
  const auto digits = internal::HexOf(*internal::Sha256({token}));
  const std::string text =
      "tokens:\n  - {name: scraper, sha256: " + std::string(digits.begin(), digits.end()) +
      std::string(more) + "}\n";
  return std::make_shared<const AccessTokens>(*ParseAccessTokens(text, "tokens.yaml"));
}

class AdminPagesTest : public testing::Test {
 protected:
  transport::AdminResponse Get(std::string_view target, std::string_view authorization = {}) {
    return pages_({.method = "GET", .target = target, .authorization = authorization});
  }

  sim::SimScheduler scheduler_;
  ServiceCounts counts_;
  RecordingLog recorded_;
  RequestLog log_{recorded_};
  AdminState state_{scheduler_.clock(), counts_, log_};
  transport::AdminHandler pages_ = AdminPages(state_);
};

TEST_F(AdminPagesTest, ReadyIsSaidWhileTheServiceServes) {
  EXPECT_EQ(Get("/readyz").status, 503);
  state_.is_serving = true;
  EXPECT_EQ(Get("/readyz?verbose").status, 200);
  EXPECT_EQ(Get("/healthz").status, 200);
  EXPECT_EQ(Get("/").status, 404);
}

TEST_F(AdminPagesTest, MetricsNeedNoTokenIfThereAreNone) {
  Registry registry;
  EXPECT_EQ(Get("/metrics").body, "");
  state_.registry = &registry;
  EXPECT_EQ(Get("/metrics").status, 200);
}

// Fails if: who may decide sees the names of domains and rules, or a probe needs a token.
TEST_F(AdminPagesTest, MetricsNeedATokenWithTheScopeToAdminister) {
  state_.SetTokens(Tokens("secret", ", scopes: [admin]"));
  EXPECT_EQ(Get("/metrics", "Bearer secret").status, 200);
  EXPECT_EQ(Get("/metrics").status, 401);
  EXPECT_EQ(Get("/metrics", "Bearer wrong").status, 401);
  EXPECT_EQ(Get("/healthz").status, 200);
  state_.SetTokens(Tokens("secret", ", scopes: [decide]"));
  const transport::AdminResponse response = Get("/metrics", "Bearer secret");
  EXPECT_EQ(response.status, 403);
  EXPECT_FALSE(response.body.contains("secret"));
  EXPECT_EQ(counts_.pages_denied.Value(), 3U);
  ASSERT_EQ(recorded_.lines().size(), 1U);
  EXPECT_TRUE(recorded_.lines()[0].starts_with("warning service.page_denied message=/metrics: "));
}

TEST_F(AdminPagesTest, AnExpiredTokenShowsNothing) {
  state_.SetTokens(Tokens("secret", ", scopes: [admin], expires: '1971-01-01T00:00:00Z'"));
  EXPECT_EQ(Get("/metrics", "Bearer secret").status, 401);
}

}  // namespace
}  // namespace weir::service
