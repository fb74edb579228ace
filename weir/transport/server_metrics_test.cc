#include "weir/transport/server_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/transport/http1/admin_connections.h"
#include "weir/transport/testing/server_fixture.h"

namespace weir::transport {
namespace {

using testing::HasSubstr;

class ServerMetricsTest : public ServerTestBase {};

TEST_F(ServerMetricsTest, AnAdminServerServesTheMetricsOfAServer) {
  ServerOptions options = Loopback();
  options.max_connections = 1;
  Start(options);
  Registry registry;
  ASSERT_TRUE(RegisterMetrics(registry, *server_, "grpc"));
  Server admin(loops_, Loopback(), MakeAdminConnections([&registry](const AdminRequest&) {
                 return AdminResponse{.content_type = "text/plain; version=0.0.4",
                                      .body = registry.Text()};
               }));
  ASSERT_TRUE(admin.Start());
  const TestClient served(address());
  served.Send("hello");
  EXPECT_EQ(served.Read(5), "hello");
  EXPECT_EQ(TestClient(address()).Read(1), "");

  const TestClient client(admin.addresses().front());
  client.Send("GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const std::string text = client.ReadToEnd();
  for (const char* line :
       {"weir_transport_accepted_total{listener=\"grpc\"} 1\n",
        "weir_transport_connections{listener=\"grpc\"} 1\n",
        "weir_transport_refused_total{cause=\"total\",listener=\"grpc\"} 1\n",
        "weir_transport_bytes_total{direction=\"received\",listener=\"grpc\"} 5\n",
        "weir_transport_bytes_total{direction=\"sent\",listener=\"grpc\"} 5\n",
        "weir_transport_cut_total{cause=\"slow\",listener=\"grpc\"} 0\n",
        "weir_transport_handshakes_failed_total{cause=\"alpn\",listener=\"grpc\"} 0\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_EQ(RegisterMetrics(registry, *server_, "grpc").error().code, Code::kAlreadyExists);
}

}  // namespace
}  // namespace weir::transport
