package service

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"testing"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

func TestACallPastItsDeadlineIsNotCharged(t *testing.T) {
	c := connect(t)
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	_, err := rls.NewRateLimitServiceClient(c).ShouldRateLimit(ctx, request(descriptor("user", "late")))
	checkCode(t, err, codes.DeadlineExceeded)
	c.check(request(descriptor("user", "late")), ofUser(ok, 9, userToken))
}

// gRPC's client refuses a call past its deadline by itself, so net/http sends this one.
func TestTheServiceRefusesACallWithoutTimeUncharged(t *testing.T) {
	message := request(descriptor("user", "no time"))
	if got := post(t, message, "10S"); got != "0" {
		t.Fatalf("with time, grpc-status is %q, want 0", got)
	}
	if got := post(t, message, "0n"); got != "4" {
		t.Fatalf("without time, grpc-status is %q, want 4: DEADLINE_EXCEEDED", got)
	}
	connect(t).check(message, ofUser(ok, 8, 2*userToken))
}

// post sends a call with this grpc-timeout and returns its grpc-status.
func post(t *testing.T, message proto.Message, timeout string) string {
	t.Helper()
	url := "http://" + *target + rls.RateLimitService_ShouldRateLimit_FullMethodName
	call, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(framed(t, message)))
	if err != nil {
		t.Fatal(err)
	}
	call.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"},
		"Grpc-Timeout": {timeout}}
	response, err := overHTTP2(t).Do(call)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	if found := response.Trailer.Get("Grpc-Status"); found != "" {
		return found
	}
	return response.Header.Get("Grpc-Status") // of a response without a message
}

// framed returns the message as gRPC sends it: uncompressed, with its length.
func framed(t *testing.T, message proto.Message) []byte {
	t.Helper()
	encoded, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	head := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(encoded)))
	return append(head, encoded...)
}

// overHTTP2 returns a client that uses HTTP/2 without TLS.
func overHTTP2(t *testing.T) *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}
