#include "weir/aggregator/daemon/s3_archive.h"

#include <gtest/gtest.h>

#include <optional>

namespace weir::dynamo {
namespace {

/// Keeps the last call, and fails or succeeds.
class LastCall final : public JsonClient {
 public:
  void Call(JsonCall call, Deadline, JsonDone done) override {
    last = std::move(call);
    if (fails) return done(tl::unexpected(AwsFailure{.kind = FailureClass::kThrottle}));
    done(JsonReply{});
  }
  bool fails = false;
  std::optional<JsonCall> last;
};

struct Archive {
  LastCall client;
  S3Bucket bucket{client, "/events/"};
  S3Archive archive{bucket, "weir/"};

  Status Put() {
    Status result = Fail(Code::kInternal, "no result");
    archive.Put({.key = "audit/year=2026/a.jsonl.gz",
                 .content_type = "application/x-ndjson",
                 .content_encoding = "gzip",
                 .body = "bytes"},
                Deadline::Never(), [&](Status put) { result = std::move(put); });
    return result;
  }
};

TEST(S3Archive, PutsTheObjectBelowThePrefix) {
  Archive fixture;
  EXPECT_TRUE(fixture.Put());
  ASSERT_TRUE(fixture.client.last && fixture.client.last->target);
  EXPECT_EQ(fixture.client.last->target->method, "PUT");
  EXPECT_EQ(fixture.client.last->target->path, "/events/weir/audit/year%3D2026/a.jsonl.gz");
  EXPECT_EQ(fixture.client.last->body, "bytes");
}

TEST(S3Archive, ReportsAFailure) {
  Archive fixture;
  fixture.client.fails = true;
  EXPECT_FALSE(fixture.Put());
}

}  // namespace
}  // namespace weir::dynamo
