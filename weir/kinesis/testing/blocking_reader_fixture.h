// A FakeStream for code that blocks. Tests only.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "weir/aws/json_client.h"
#include "weir/kinesis/testing/fake_stream_fixture.h"

namespace weir::kinesis {

/// Makes a FakeStream a service that responds before Call returns.
class FakeClient final : public JsonClient {
 public:
  FakeClient(FakeStream& stream, const Clock& clock) : stream_(stream), clock_(clock) {}
  void Call(JsonCall call, Deadline, JsonDone done) override {
    EXPECT_TRUE(call.repeatable);
    auto response = stream_.Respond({0, call.operation, call.body}, clock_.Now(), rng_);
    if (!response) return done(tl::unexpected(response.error()));
    done(JsonReply{.body = *response});
  }

 private:
  FakeStream& stream_;
  const Clock& clock_;
  Rng rng_{1};
};

}  // namespace weir::kinesis
