// The S3 client on a server that is not ours, which verifies signatures. usage: run.py --engine
// moto
#include "weir/aws/s3/s3_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "weir/backends/open.h"
#include "weir/base/time.h"
#include "weir/runtime/await.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kBucket[] = "weir-s3-test";

class S3Engine : public testing::Test {
 protected:
  S3Engine() {
    auto opened =
        S3Connection::Open({.bucket = kBucket, .max_bytes = 100'000}, clock_, ProcessEnvironment());
    EXPECT_TRUE(opened) << opened.error().message;
    if (opened) connection_ = *std::move(opened);
  }
  Deadline Soon() { return Deadline::After(clock_, std::chrono::seconds(20)); }
  // An object without a key is the bucket itself.
  Status Put(S3Object object) {
    return Await<void>([&](Done<void> done) {
      connection_->bucket().Put(
          std::move(object), Soon(),
          [done = std::move(done)](auto put) mutable { done(std::move(put).map_error(ToError)); });
    });
  }
  Result<std::string> Get(const std::string& key) {
    return Await<std::string>([&](Done<std::string> done) {
      connection_->bucket().Get(key, Soon(), [done = std::move(done)](auto got) mutable {
        done(std::move(got).map_error(ToError));
      });
    });
  }
  Result<S3Listing> List(const S3ListRequest& request) {
    return Await<S3Listing>([&](Done<S3Listing> done) {
      connection_->bucket().List(request, Soon(), [done = std::move(done)](auto page) mutable {
        done(std::move(page).map_error(ToError));
      });
    });
  }

  SystemClock clock_;
  std::unique_ptr<S3Connection> connection_;
};

TEST_F(S3Engine, ObjectsComeBackAsTheyWerePut) {
  const std::vector<std::string> keys = {"audit/year=2026/month=01/a b+c%.gz", "a//b/../c",
                                         "caf\xC3\xA9~-_.!'()*&?#"};
  ASSERT_TRUE(Put({.key = "", .body = ""})) << "the bucket";
  for (const std::string& key : keys) {
    const std::string body = key + std::string("\0\x1f\x8b", 3);
    const Status put = Put({.key = key,
                            .body = body,
                            .content_type = "application/x-ndjson",
                            .content_encoding = "gzip"});
    ASSERT_TRUE(put) << put.error().message;
    const auto got = Get(key);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(*got, body);
  }
  const auto first = List({.most = 2});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_THAT(first->objects, ElementsAre(S3Entry{keys[1], keys[1].size() + 3},
                                          S3Entry{keys[0], keys[0].size() + 3}));
  const auto second = List({.token = first->next, .most = 2});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_THAT(second->objects, ElementsAre(S3Entry{keys[2], keys[2].size() + 3}));
  EXPECT_EQ(second->next, "");
  const auto folders = List({.prefix = "audit/", .delimiter = "/"});
  ASSERT_TRUE(folders) << folders.error().message;
  EXPECT_THAT(folders->prefixes, ElementsAre("audit/year=2026/"));
}

TEST_F(S3Engine, AMissingObjectHasS3sError) {
  ASSERT_TRUE(Put({.key = "", .body = ""}));
  const auto missing = Get("nothing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("404 NoSuchKey"));
}

TEST_F(S3Engine, AnObjectThatIsTooLongIsAFailure) {
  ASSERT_TRUE(Put({.key = "", .body = ""}));
  ASSERT_TRUE(Put({.key = "long", .body = std::string(200'000, 'x')}));
  const auto refused = Get("long");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("100000"));
}

}  // namespace
}  // namespace weir
