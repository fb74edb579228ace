package service

import (
	"fmt"
	"testing"
	"time"

	"github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	// The times in which the rules refill a token.
	userToken = 24 * time.Hour / 10
	pathToken = 24 * time.Hour / 3
	// Buckets refill while a test runs, so a reset may be nearer by this.
	slack = time.Minute
)

type state = rls.RateLimitResponse_DescriptorStatus

func perDay(name string, requests uint32) *rls.RateLimitResponse_RateLimit {
	return &rls.RateLimitResponse_RateLimit{
		Name: name, RequestsPerUnit: requests, Unit: rls.RateLimitResponse_RateLimit_DAY}
}

func ofUser(code rls.RateLimitResponse_Code, remaining uint32, reset time.Duration) *state {
	return &state{Code: code, CurrentLimit: perDay("edge/user=*", 10), LimitRemaining: remaining,
		DurationUntilReset: durationpb.New(reset)}
}

func ofPath(code rls.RateLimitResponse_Code, remaining uint32, reset time.Duration) *state {
	return &state{Code: code, CurrentLimit: perDay("edge/path=*", 3), LimitRemaining: remaining,
		DurationUntilReset: durationpb.New(reset)}
}

// neverReset removes the reset, which hits over the capacity do not have.
func neverReset(s *state) *state {
	s.DurationUntilReset = nil
	return s
}

// check compares the whole response to a call. It is over the limit if one of its statuses is.
func (c client) check(request *rls.RateLimitRequest, want ...*state) {
	c.t.Helper()
	response, err := c.call(request)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := response.ValidateAll(); err != nil {
		c.t.Errorf("the response breaks Envoy's constraints: %v", err)
	}
	wanted := &rls.RateLimitResponse{OverallCode: ok, Statuses: want}
	for i, s := range want {
		if s.GetCode() == overLimit {
			wanted.OverallCode = overLimit
		}
		if i < len(response.GetStatuses()) {
			adoptReset(s, response.GetStatuses()[i])
		}
	}
	if !proto.Equal(response, wanted) {
		c.t.Fatalf("the response is\n%s\nwant\n%s", prototext.Format(response),
			prototext.Format(wanted))
	}
}

// adoptReset copies a reset in whole seconds that is at most `slack` nearer than the wanted one.
func adoptReset(want, got *state) {
	if want.DurationUntilReset == nil || got.GetDurationUntilReset() == nil {
		return
	}
	early := want.DurationUntilReset.AsDuration() - got.DurationUntilReset.AsDuration()
	if early >= 0 && early <= slack && got.DurationUntilReset.GetNanos() == 0 {
		want.DurationUntilReset = got.DurationUntilReset
	}
}

func TestStatusesAreInTheOrderOfTheDescriptors(t *testing.T) {
	c := connect(t)
	user := func(hits uint64) *ratelimitv3.RateLimitDescriptor {
		return withHits(descriptor("user", "order"), hits)
	}
	path := withHits(descriptor("path", "/order"), 2)
	unknown := descriptor("unknown", "order")
	c.check(request(user(1), path, unknown),
		ofUser(ok, 9, userToken), ofPath(ok, 1, 2*pathToken), &state{Code: ok})
	c.check(request(unknown, path, user(1)),
		&state{Code: ok}, ofPath(overLimit, 1, pathToken), ofUser(ok, 9, userToken))
	c.check(request(user(10), path),
		ofUser(overLimit, 9, userToken), ofPath(overLimit, 1, pathToken))
	c.check(request(user(9)), ofUser(ok, 0, 10*userToken))
}

func TestHitsOfARequestAreOneUnlessGiven(t *testing.T) {
	c := connect(t)
	hits := request(descriptor("user", "hits"))
	c.check(hits, ofUser(ok, 9, userToken))
	hits.HitsAddend = 5
	c.check(hits, ofUser(ok, 4, 6*userToken))
	c.check(hits, ofUser(overLimit, 4, userToken))
	hits.HitsAddend = 4
	c.check(hits, ofUser(ok, 0, 10*userToken))
}

func TestHitsOfADescriptorReplaceThoseOfTheRequest(t *testing.T) {
	c := connect(t)
	both := request(withHits(descriptor("user", "own hits"), 7), descriptor("path", "/own hits"))
	both.HitsAddend = 2
	c.check(both, ofUser(ok, 3, 7*userToken), ofPath(ok, 1, 2*pathToken))
}

func TestMoreHitsThanTheCapacityAreOverTheLimitForEver(t *testing.T) {
	c := connect(t)
	c.check(request(withHits(descriptor("user", "more"), 11)), neverReset(ofUser(overLimit, 10, 0)))
	most := request(withHits(descriptor("user", "more"), 1<<64-1))
	c.check(most, neverReset(ofUser(overLimit, 10, 0)))
}

func TestZeroHitsOfADescriptorOnlyLook(t *testing.T) {
	c := connect(t)
	look := request(withHits(descriptor("user", "look"), 0))
	look.HitsAddend = 3
	for range 3 {
		c.check(look, ofUser(ok, 10, 0))
	}
	c.check(request(withHits(descriptor("user", "look"), 10)), ofUser(ok, 0, 10*userToken))
	c.check(look, ofUser(overLimit, 0, userToken))
}

func TestNegativeHitsGiveBackUpToTheCapacity(t *testing.T) {
	c := connect(t)
	look := request(withHits(descriptor("user", "back"), 0))
	c.check(request(withHits(descriptor("user", "back"), 7)), ofUser(ok, 3, 7*userToken))
	c.check(request(giveBack(descriptor("user", "back"), 5)), &state{Code: ok})
	c.check(look, ofUser(ok, 8, 2*userToken))
	c.check(request(giveBack(descriptor("user", "back"), 1000)), &state{Code: ok})
	c.check(look, ofUser(ok, 10, 0))
}

func withLimit(d *ratelimitv3.RateLimitDescriptor, requests uint32, unit typev3.RateLimitUnit,
	multiplier uint32) *ratelimitv3.RateLimitDescriptor {
	d.Limit = &ratelimitv3.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: requests, Unit: unit}
	if multiplier != 1 {
		d.Limit.UnitMultiplier = wrapperspb.UInt32(multiplier)
	}
	return d
}

func TestALimitOfTheRequestIsStatedInItsUnit(t *testing.T) {
	const day = 24 * time.Hour
	units := map[typev3.RateLimitUnit]time.Duration{
		typev3.RateLimitUnit_SECOND: time.Second, typev3.RateLimitUnit_MINUTE: time.Minute,
		typev3.RateLimitUnit_HOUR: time.Hour, typev3.RateLimitUnit_DAY: day,
		typev3.RateLimitUnit_MONTH: 30 * day, typev3.RateLimitUnit_YEAR: 365 * day}
	if len(units) != len(typev3.RateLimitUnit_name)-1 {
		t.Fatalf("the test lacks some of Envoy's units: %v", typev3.RateLimitUnit_name)
	}
	for unit, length := range units {
		t.Run(unit.String(), func(t *testing.T) {
			number := rls.RateLimitResponse_RateLimit_Unit_value[unit.String()]
			limit := &rls.RateLimitResponse_RateLimit{Name: "edge/user=*", RequestsPerUnit: 12,
				Unit: rls.RateLimitResponse_RateLimit_Unit(number)}
			d := withHits(withLimit(descriptor("user", unit.String()), 12, unit, 1), 12)
			connect(t).check(request(d), &state{Code: ok, CurrentLimit: limit,
				DurationUntilReset: durationpb.New(length)})
		})
	}
}

func TestALimitOfTheRequestReplacesThatOfTheRule(t *testing.T) {
	c := connect(t)
	for _, key := range []string{"user", "unknown"} {
		name := map[string]string{"user": "edge/user=*", "unknown": "override"}[key]
		limit := &rls.RateLimitResponse_RateLimit{Name: name, RequestsPerUnit: 2,
			Unit: rls.RateLimitResponse_RateLimit_HOUR, UnitMultiplier: wrapperspb.UInt32(3)}
		d := withLimit(descriptor(key, "override"), 2, typev3.RateLimitUnit_HOUR, 3)
		for i, code := range []rls.RateLimitResponse_Code{ok, ok, overLimit} {
			reset := []time.Duration{90 * time.Minute, 3 * time.Hour, 90 * time.Minute}[i]
			c.check(request(d), &state{Code: code, CurrentLimit: limit,
				LimitRemaining: []uint32{1, 0, 0}[i], DurationUntilReset: durationpb.New(reset)})
		}
	}
	c.check(request(descriptor("user", "override")), ofUser(ok, 9, userToken))
}

// checkReason fails unless the details of the error are an ErrorInfo with this reason.
func checkReason(t *testing.T, err error, reason string) {
	t.Helper()
	details := status.Convert(err).Details()
	if len(details) != 1 {
		t.Fatalf("details are %v, want one", details)
	}
	info, isInfo := details[0].(*errdetails.ErrorInfo)
	if !isInfo || info.Reason != reason || info.Domain != "weir" {
		t.Errorf("details are %v, want the reason %s", details, reason)
	}
}

func TestRequestsThatAreWrongAreRefused(t *testing.T) {
	c := connect(t)
	wrong := map[string]*rls.RateLimitRequest{
		"no domain":      {Descriptors: request(descriptor("user", "wrong")).Descriptors},
		"no descriptors": {Domain: domain},
		"no unit": request(withLimit(descriptor("user", "wrong"), 2,
			typev3.RateLimitUnit_UNKNOWN, 1)),
	}
	for name, message := range wrong {
		t.Run(name, func(t *testing.T) {
			_, err := c.call(message)
			checkCode(t, err, codes.InvalidArgument)
			checkReason(t, err, "REQUEST_INVALID")
		})
	}
	c.check(request(descriptor("user", "wrong")), ofUser(ok, 9, userToken))
}

// Fails if: two of the calls that share a connection are decided on one state of the bucket.
func TestConcurrentCallsOfAConnectionShareTheCapacityExactly(t *testing.T) {
	const calls, capacity = 2000, 500
	for _, hits := range []uint64{1, 3} {
		t.Run(fmt.Sprint(hits), func(t *testing.T) {
			c := connect(t)
			codes := make(chan rls.RateLimitResponse_Code, calls)
			value := fmt.Sprintf("hits %d", hits)
			for range calls {
				go func() {
					response, err := c.call(request(withHits(descriptor("load", value), hits)))
					if err != nil {
						t.Error(err)
					}
					codes <- response.GetOverallCode()
				}()
			}
			counts := map[rls.RateLimitResponse_Code]uint64{}
			for range calls {
				counts[<-codes]++
			}
			if counts[ok] != capacity/hits || counts[overLimit] != calls-capacity/hits {
				t.Errorf("the responses are %v, want %d admitted of %d", counts, capacity/hits, calls)
			}
			if left := c.remaining("load", value); uint64(left) != capacity%hits {
				t.Errorf("%d tokens remain, want %d", left, capacity%hits)
			}
			if made := c.connections.made.Load(); made != 1 {
				t.Errorf("the calls used %d connections, want 1", made)
			}
		})
	}
}
