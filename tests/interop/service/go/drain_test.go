package service

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

const (
	drainCapacity = 1_000_000
	takers        = 16
	inFlight      = 100
	// Calls of all takers, before a test goes on.
	enough = 1000
)

var (
	admin      = flag.String("admin", "", "the `HOST:PORT` of the service's /metrics")
	servicePID = flag.Int("service-pid", 0, "the process of the service, which gets SIGTERM")
	storePID   = flag.Int("store-pid", 0, "the process of the store, which is stopped for a time")
)

func kill(t *testing.T, pid int, signal syscall.Signal) {
	t.Helper()
	if pid == 0 {
		t.Fatal("the flag of a process is missing")
	}
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatal(err)
	}
}

// metric returns the line of a metric without labels.
func metric(t *testing.T, name string) string {
	t.Helper()
	page, err := http.Get("http://" + *admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	text, err := io.ReadAll(page.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, name+" ") {
			return strings.TrimSpace(line)
		}
	}
	t.Fatalf("there is no metric %s", name)
	return ""
}

// watch returns a function that waits for the next health of the service.
func watch(t *testing.T, c client) func() (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
	t.Helper()
	ctx, cancel := withTimeout()
	t.Cleanup(cancel)
	stream, err := grpc_health_v1.NewHealthClient(c).Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return func() (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
		response, err := stream.Recv()
		return response.GetStatus(), err
	}
}

// While the store is stopped no call ends: all are in flight when the client sees the drain.
func TestDrainAnswersTheCallsInFlight(t *testing.T) {
	c := connect(t)
	next := watch(t, c)
	if got, err := next(); got != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Fatalf("the health is %v at first: %v", got, err)
	}
	// The first call lets the service connect to its store.
	c.check(request(descriptor("user", "first")), ofUser(ok, 9, userToken))
	kill(t, *storePID, syscall.SIGSTOP)
	t.Cleanup(func() { kill(t, *storePID, syscall.SIGCONT) })
	results := callInFlight(t, c)
	kill(t, *servicePID, syscall.SIGTERM)
	if got, err := next(); got != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("the health is %v while the service drains: %v", got, err)
	}
	waitForGoAway(t, c)
	_, err := c.call(request(descriptor("drain", "new")))
	checkCode(t, err, codes.Unavailable)
	if len(results) != 0 {
		t.Errorf("%d calls have ended without the store", len(results))
	}
	kill(t, *storePID, syscall.SIGCONT)
	for range inFlight {
		if err := <-results; err != nil {
			t.Errorf("a call in flight is lost: %v", err)
		}
	}
}

// callInFlight returns when the calls that it starts wait for the store.
func callInFlight(t *testing.T, c client) chan error {
	t.Helper()
	results := make(chan error, inFlight)
	for range inFlight {
		go func() {
			response, err := c.call(request(descriptor("drain", "in flight")))
			if err == nil && response.GetOverallCode() != ok {
				err = fmt.Errorf("the response is %v", response.GetOverallCode())
			}
			results <- err
		}()
	}
	const waiting = "weir_service_requests_in_flight"
	wanted, last := fmt.Sprintf("%s %d", waiting, inFlight), ""
	t.Cleanup(func() {
		if last != wanted {
			t.Logf("the last metric is %s", last)
		}
	})
	waitUntil(t, "the calls wait for the store", func() bool {
		last = metric(t, waiting)
		return last == wanted || len(results) > 0
	})
	if last != wanted {
		t.Fatalf("a call ended without the store: %v", <-results)
	}
	return results
}

// waitForGoAway returns when the channel sends no more calls on its connection.
func waitForGoAway(t *testing.T, c client) {
	t.Helper()
	ctx, cancel := withTimeout()
	defer cancel()
	if !c.WaitForStateChange(ctx, connectivity.Ready) {
		t.Fatal("the client keeps the connection of a service that ends")
	}
}

// load is the calls of several takers at the same time. Each takes one token again and again.
type load struct {
	acknowledged atomic.Uint32
	done         sync.WaitGroup
}

// start begins the calls. A taker ends with its first error, or when `stops` returns true.
func (l *load) start(c client, value string, stops func() bool, failed func(error),
	options ...grpc.CallOption) {
	for range takers {
		l.done.Go(func() {
			for !stops() {
				response, err := c.call(request(descriptor("drain", value)), options...)
				if err != nil {
					failed(err)
					return
				}
				if response.GetOverallCode() == rls.RateLimitResponse_OK {
					l.acknowledged.Add(1)
				}
			}
		})
	}
}

// wait returns when enough calls more are admitted.
func (l *load) wait(t *testing.T) {
	t.Helper()
	before := l.acknowledged.Load()
	waitUntil(t, "calls are admitted", func() bool { return l.acknowledged.Load() >= before+enough })
}

// checkCharges looks at the store through the process that replaces the one that drained.
func (l *load) checkCharges(t *testing.T, c client, value string) {
	t.Helper()
	charged := drainCapacity - c.remaining("drain", value, grpc.WaitForReady(true))
	if charged != l.acknowledged.Load() {
		t.Errorf("%d calls were admitted, but %d charged", l.acknowledged.Load(), charged)
	}
}

// Fails if: a call of the drain is charged and its response lost, or admitted and its charge lost.
func TestDrainUnderLoadLosesNoCall(t *testing.T) {
	c := connect(t)
	var l load
	l.start(c, "load", func() bool { return false }, func(err error) {
		if status.Code(err) != codes.Unavailable {
			t.Errorf("a call after the drain ends with %v", err)
		}
	})
	l.wait(t)
	kill(t, *servicePID, syscall.SIGTERM)
	l.done.Wait()
	l.checkCharges(t, c, "load")
}

func TestDrainUnderLoadIsNotSeenByCallsThatWait(t *testing.T) {
	c := connect(t)
	var l load
	var hasEnded atomic.Bool
	l.start(c, "waits", hasEnded.Load, func(err error) {
		t.Errorf("a call fails although another process takes over: %v", err)
	}, grpc.WaitForReady(true))
	l.wait(t)
	kill(t, *servicePID, syscall.SIGTERM)
	waitUntil(t, "another process is there", func() bool { return c.connections.made.Load() > 1 })
	l.wait(t)
	hasEnded.Store(true)
	l.done.Wait()
	l.checkCharges(t, c, "waits")
}
