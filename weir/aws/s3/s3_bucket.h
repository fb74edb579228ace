// One bucket of Amazon S3: put, get and list objects.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tl/expected.hpp>

#include "weir/aws/json_client.h"
#include "weir/aws/s3/s3_listing.h"
#include "weir/runtime/deadline.h"

namespace weir {

struct S3Object {
  std::string key;  ///< UTF-8, not empty
  std::string body;
  std::string content_type = "application/octet-stream";
  std::string content_encoding{};  ///< for example "gzip"; empty: none
};

/// Which objects a listing has, and where its page begins.
struct S3ListRequest {
  std::string prefix{};     ///< the prefix of the keys
  std::string delimiter{};  ///< keys that contain it after the prefix are grouped
  std::string token{};      ///< S3Listing::next of the previous page
  int most = 1000;          ///< objects and prefixes of a page: 1 to 1000
};

template <class T>
using S3Done = std::move_only_function<void(tl::expected<T, AwsFailure>)>;

/// Calls on one bucket, retried as calls of `client`: putting an object twice does no harm. The
/// failures have AWS's code, and its message and request id in their message. Thread-safe. `done`
/// runs as that of JsonClient::Call.
class S3Bucket {
 public:
  /// `path` as in S3Address: "/" or "/BUCKET/" at an endpoint without a path. `client` must outlive
  /// the bucket and each call; its signer must sign for the service "s3".
  S3Bucket(JsonClient& client, std::string path) : client_(client), path_(std::move(path)) {}

  void Put(S3Object object, Deadline deadline, S3Done<void> done);
  /// Gets the bytes of an object as they were put. A longer object than the transport's
  /// max_response_bytes is a failure.
  void Get(std::string_view key, Deadline deadline, S3Done<std::string> done);
  /// A response that cannot be parsed is a failure of kPermanent.
  void List(const S3ListRequest& request, Deadline deadline, S3Done<S3Listing> done);

 private:
  std::string PathOf(std::string_view key) const;

  JsonClient& client_;
  const std::string path_;
};

}  // namespace weir
