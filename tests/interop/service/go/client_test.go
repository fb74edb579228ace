// Package service has tests of `weir serve` that use gRPC's Go client and Envoy's messages, as a
// service in Go does. go_client_test.py starts the service with rules.yaml, and the test program.
package service

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	domain = "edge"
	// The time of a call, and of a change in another process.
	patience = 20 * time.Second

	ok        = rls.RateLimitResponse_OK
	overLimit = rls.RateLimitResponse_OVER_LIMIT
)

var target = flag.String("target", "", "the `HOST:PORT` at which the service has gRPC")

func TestMain(m *testing.M) {
	flag.Parse()
	if *target == "" {
		fmt.Fprintln(os.Stderr, "-target is missing: go_client_test.py starts the service and sets it")
		os.Exit(2)
	}
	os.Exit(m.Run())
}

// connections counts the connections that a client has made.
type connections struct {
	made atomic.Int64
}

func (c *connections) HandleConn(_ context.Context, event stats.ConnStats) {
	if _, isBegin := event.(*stats.ConnBegin); isBegin {
		c.made.Add(1)
	}
}

func (*connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*connections) HandleRPC(context.Context, stats.RPCStats)                         {}

// client is a channel to the service, which ends with the test.
type client struct {
	t *testing.T
	*grpc.ClientConn
	connections *connections
}

func connect(t *testing.T, options ...grpc.DialOption) client {
	t.Helper()
	counts := &connections{}
	options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStatsHandler(counts))
	connection, err := grpc.NewClient(*target, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return client{t, connection, counts}
}

// withTimeout returns a context with the time that a call of a test has.
func withTimeout() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}

func (c client) call(request *rls.RateLimitRequest,
	options ...grpc.CallOption) (*rls.RateLimitResponse, error) {
	ctx, cancel := withTimeout()
	defer cancel()
	return rls.NewRateLimitServiceClient(c).ShouldRateLimit(ctx, request, options...)
}

// remaining returns the tokens of a bucket. Nothing is charged.
func (c client) remaining(key, value string, options ...grpc.CallOption) uint32 {
	c.t.Helper()
	response, err := c.call(request(withHits(descriptor(key, value), 0)), options...)
	if err != nil {
		c.t.Fatal(err)
	}
	return response.GetStatuses()[0].GetLimitRemaining()
}

func request(descriptors ...*ratelimitv3.RateLimitDescriptor) *rls.RateLimitRequest {
	return &rls.RateLimitRequest{Domain: domain, Descriptors: descriptors}
}

func descriptor(key, value string) *ratelimitv3.RateLimitDescriptor {
	entry := &ratelimitv3.RateLimitDescriptor_Entry{Key: key, Value: value}
	return &ratelimitv3.RateLimitDescriptor{Entries: []*ratelimitv3.RateLimitDescriptor_Entry{entry}}
}

// withHits sets the descriptor's own addend.
func withHits(d *ratelimitv3.RateLimitDescriptor, hits uint64) *ratelimitv3.RateLimitDescriptor {
	d.HitsAddend = wrapperspb.UInt64(hits)
	return d
}

func giveBack(d *ratelimitv3.RateLimitDescriptor, hits uint64) *ratelimitv3.RateLimitDescriptor {
	d.IsNegativeHits = true
	return withHits(d, hits)
}

func checkCode(t *testing.T, err error, want codes.Code) {
	t.Helper()
	if status.Code(err) != want {
		t.Fatalf("the status is %v, want %v: %v", status.Code(err), want, err)
	}
}

// waitUntil returns when `holds` returns true, which a change in another process causes.
func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(patience); !holds(); <-ticker.C {
		if time.Now().After(end) {
			t.Fatalf("waited %v until %s", patience, what)
		}
	}
}
