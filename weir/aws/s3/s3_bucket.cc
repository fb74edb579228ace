#include "weir/aws/s3/s3_bucket.h"

#include <fmt/format.h>

#include <utility>

#include "weir/aws/s3/s3_url_text.h"

namespace weir {
namespace {

using Reply = tl::expected<JsonReply, AwsFailure>;

// Returns the path and query of a listing. The parameters are sorted, as their signature requires.
std::string ListTarget(const std::string& path, const S3ListRequest& request) {
  std::string target = path + "?";
  if (!request.token.empty()) {
    target += "continuation-token=" + internal::EncodeForS3(request.token, false) + "&";
  }
  if (!request.delimiter.empty()) {
    target += "delimiter=" + internal::EncodeForS3(request.delimiter, false) + "&";
  }
  return target + fmt::format("encoding-type=url&list-type=2&max-keys={}&prefix={}", request.most,
                              internal::EncodeForS3(request.prefix, false));
}

tl::expected<S3Listing, AwsFailure> ListingOf(const Reply& reply) {
  if (!reply) return tl::unexpected(reply.error());
  Result<S3Listing> listing = ReadS3Listing(reply->body);
  if (listing) return *std::move(listing);
  return tl::unexpected(
      AwsFailure{.kind = FailureClass::kPermanent, .message = std::move(listing.error().message)});
}

}  // namespace

std::string S3Bucket::PathOf(std::string_view key) const {
  return path_ + internal::EncodeForS3(key, /*keeps_slash=*/true);
}

void S3Bucket::Put(S3Object object, Deadline deadline, S3Done<void> done) {
  CallTarget target{.method = "PUT",
                    .path = PathOf(object.key),
                    .headers = {{"content-type", std::move(object.content_type)}}};
  if (!object.content_encoding.empty()) {
    target.headers.push_back({"content-encoding", std::move(object.content_encoding)});
  }
  client_.Call({.operation = "PutObject",
                .body = std::move(object.body),
                .repeatable = true,
                .target = std::move(target)},
               deadline, [done = std::move(done)](Reply reply) mutable {
                 done(std::move(reply).map([](const JsonReply&) {}));
               });
}

void S3Bucket::Get(std::string_view key, Deadline deadline, S3Done<std::string> done) {
  client_.Call({.operation = "GetObject",
                .body = {},
                .repeatable = true,
                .target = CallTarget{.method = "GET", .path = PathOf(key), .headers = {}}},
               deadline, [done = std::move(done)](Reply reply) mutable {
                 done(std::move(reply).map([](JsonReply&& got) { return std::move(got.body); }));
               });
}

void S3Bucket::List(const S3ListRequest& request, Deadline deadline, S3Done<S3Listing> done) {
  client_.Call(
      {.operation = "ListObjectsV2",
       .body = {},
       .repeatable = true,
       .target = CallTarget{.method = "GET", .path = ListTarget(path_, request), .headers = {}}},
      deadline, [done = std::move(done)](const Reply& reply) mutable { done(ListingOf(reply)); });
}

}  // namespace weir
