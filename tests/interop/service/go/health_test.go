package service

import (
	"testing"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/health" // the client watches the health of its server
	"google.golang.org/grpc/health/grpc_health_v1"
)

const healthChecked = `{"loadBalancingConfig": [{"round_robin": {}}],
	"healthCheckConfig": {"serviceName": "envoy.service.ratelimit.v3.RateLimitService"}}`

func TestHealthOfEachService(t *testing.T) {
	health := grpc_health_v1.NewHealthClient(connect(t))
	for _, service := range []string{"", rls.RateLimitService_ServiceDesc.ServiceName,
		grpc_health_v1.Health_ServiceDesc.ServiceName} {
		ctx, cancel := withTimeout()
		defer cancel()
		response, err := health.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: service})
		if err != nil || response.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("the health of %q is %v: %v", service, response.GetStatus(), err)
		}
	}
	ctx, cancel := withTimeout()
	defer cancel()
	_, err := health.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "no.Such"})
	checkCode(t, err, codes.NotFound)
}

func TestAClientThatWatchesTheHealthIsServed(t *testing.T) {
	c := connect(t, grpc.WithDefaultServiceConfig(healthChecked))
	c.check(request(descriptor("user", "health")), ofUser(ok, 9, userToken))
}
