#include "apps/weir/serve/service_options.h"

#include <gtest/gtest.h>

#include "apps/weir/testing/process_context_fixture.h"

namespace weir::app {
namespace {

class ServiceOptionsTest : public WorldTest {
 protected:
  service::RateLimitServerOptions Make(const ServeTexts& texts, std::size_t descriptors = 1'024) {
    return *ServiceOptionsOf(*MakeServeOptions(texts), process_, descriptors);
  }
};

TEST_F(ServiceOptionsTest, AConnectionKeepsFourOfTheLargestRequests) {
  const grpc::ServerBounds usual = Make({}).calls;
  EXPECT_EQ(usual.max_message, 1'048'576U);
  EXPECT_EQ(usual.max_kept, 4'194'304U);
  EXPECT_EQ(Make({{"max-message", "65536"}}).calls.max_kept, 1'048'576U);
  EXPECT_EQ(Make({{"max-message", "16777216"}}).calls.max_kept, 67'108'864U);
}

TEST_F(ServiceOptionsTest, AConnectionHasTheCallsOfItsStreams) {
  EXPECT_EQ(Make({}).calls.max_calls, 1'024U);
  EXPECT_EQ(Make({{"max-streams", "2000"}}).calls.max_calls, 8'000U);
}

// Fails if: connections end with open streams before the time of the drain is over.
TEST_F(ServiceOptionsTest, AConnectionThatDrainsHasTheTimeOfTheDrainAndOfTheStore) {
  using std::chrono::seconds;
  EXPECT_EQ(Make({}).connection.drain_grace, seconds(10));
  EXPECT_EQ(Make({{"drain-timeout", "60s"}}).connection.drain_grace, seconds(60));
  EXPECT_EQ(Make({{"store-timeout", "40s"}}).connection.drain_grace, seconds(40));
}

// Fails if: a header that Envoy forwards from a client resets the request's stream.
TEST_F(ServiceOptionsTest, FieldsMayBeAsLargeAsThoseOfEnvoysClients) {
  EXPECT_EQ(Make({}).connection.max_header_list, 65'536U);
}

TEST_F(ServiceOptionsTest, ConnectionsFitIntoTheDescriptors) {
  EXPECT_EQ(Make({{"threads", "4"}}).grpc.max_connections, 718U);
  EXPECT_EQ(Make({{"threads", "4"}, {"max-connections", "0"}}).grpc.max_connections, 718U);
  EXPECT_EQ(Make({}, 65'536).grpc.max_connections, 20'000U);
}

// Fails if: the loops or the listeners use up the descriptors of reloads and of the store.
TEST_F(ServiceOptionsTest, DescriptorsAreKeptForTheLoopsAndTheListeners) {
  EXPECT_EQ(Make({{"threads", "64"}}).grpc.max_connections, 538U);
  EXPECT_EQ(Make({{"threads", "4"}, {"grpc", "127.0.0.1:1,127.0.0.1:2"}}).grpc.max_connections,
            717U);
  EXPECT_EQ(Make({{"threads", "4"}, {"admin", "off"}}).grpc.max_connections, 719U);
}

// Fails if: the idle connections of one peer keep the probes of others out.
TEST_F(ServiceOptionsTest, APeerHasAQuarterOfTheAdminConnections) {
  const transport::ServerOptions admin = Make({}).admin;
  EXPECT_EQ(admin.max_connections, 100U);
  EXPECT_EQ(admin.max_connections_per_peer, 25U);
}

}  // namespace
}  // namespace weir::app
