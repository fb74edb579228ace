// A connection to a bucket of Amazon S3, or of a service that emulates it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weir/aws/s3/s3_bucket.h"
#include "weir/aws/service_connection.h"
#include "weir/base/result.h"
#include "weir/telemetry/log.h"

namespace weir {

/// How requests name the bucket.
enum class S3Addressing {
  kAuto,         ///< kVirtualHost on AWS's hosts if the name has no dot; else kPath
  kPath,         ///< https://HOST/BUCKET/KEY
  kVirtualHost,  ///< https://BUCKET.HOST/KEY
};

struct S3Options {
  std::string bucket;
  std::optional<std::string> region{};        ///< nothing: found as AWS's SDKs do
  std::optional<std::string> endpoint_url{};  ///< nothing: found as AWS's SDKs do
  S3Addressing addressing = S3Addressing::kAuto;
  std::size_t max_bytes = std::size_t{16}
                          << 20;  ///< the maximum size of a response, so also of an object
  Log* log = nullptr;  ///< gets the events of ServiceConnection; must outlive the connection
};

/// The host and the paths of a bucket's requests.
struct S3Address {
  std::string endpoint_url;  ///< scheme, host and port
  /// The text before the key: the endpoint's path, with a '/' at its end, and "BUCKET/" if the host
  /// does not name the bucket.
  std::string path;

  friend bool operator==(const S3Address&, const S3Address&) = default;
};

/// Returns kInvalidArgument unless the bucket's name has 3 to 63 lower-case letters, digits, '-'
/// and '.', and begins and ends with a letter or digit. (Amazon S3 User Guide, "Bucket naming
/// rules".)
[[nodiscard]] Status CheckS3Bucket(std::string_view bucket);

/// Returns the address of a bucket at a service's location. REQUIRES: CheckS3Bucket accepts it.
S3Address AddressOf(std::string_view bucket, const Endpoint& service, S3Addressing addressing);

/// Owns the network, the credentials and a thread for timers. Thread-safe. To be destroyed when no
/// call is pending, and not on one of its threads.
class S3Connection {
 public:
  /// Reads files and the environment, and sends no request yet. Fails as CheckS3Bucket,
  /// LocateService and ServiceConnection::Open. `clock` must be a real one and must outlive the
  /// connection.
  [[nodiscard]] static Result<std::unique_ptr<S3Connection>> Open(
      const S3Options& options, const Clock& clock, const HostEnvironment& environment);

  S3Bucket& bucket() { return bucket_; }

 private:
  S3Connection(std::unique_ptr<ServiceConnection> service, std::string path)
      : service_(std::move(service)), bucket_(service_->client(), std::move(path)) {}

  const std::unique_ptr<ServiceConnection> service_;
  S3Bucket bucket_;
};

}  // namespace weir
