#include "weir/aws/s3/s3_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace weir {
namespace {

// A response may have max_bytes, so it may take longer than that of other services.
constexpr std::chrono::seconds kResponseWithin{30};

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

std::string UrlOf(const Endpoint& endpoint) {
  return fmt::format("{}://{}", endpoint.tls ? "https" : "http", HostHeader(endpoint));
}

// Returns the path of the endpoint, which precedes the bucket and the key, with a '/' at its end.
std::string BaseOf(const Endpoint& endpoint) {
  return endpoint.path.ends_with('/') ? endpoint.path : endpoint.path + '/';
}

}  // namespace

Status CheckS3Bucket(std::string_view bucket) {
  const auto is_part = [](char c) { return IsLowerOrDigit(c) || c == '-' || c == '.'; };
  const bool fits = bucket.size() >= 3 && bucket.size() <= 63 && IsLowerOrDigit(bucket.front()) &&
                    IsLowerOrDigit(bucket.back()) && std::ranges::all_of(bucket, is_part);
  if (fits) return {};
  return Fail(Code::kInvalidArgument,
              "bucket: expected 3 to 63 lower-case letters, digits, '-' and '.'");
}

S3Address AddressOf(std::string_view bucket, const Endpoint& service, S3Addressing addressing) {
  // A name with a dot does not match the wildcard in AWS's certificate.
  const bool fits_host = IsHostOfAws(service.host) && bucket.find('.') == bucket.npos;
  const bool is_host =
      addressing == S3Addressing::kVirtualHost || (addressing == S3Addressing::kAuto && fits_host);
  const std::string base = BaseOf(service);
  if (!is_host) return {.endpoint_url = UrlOf(service), .path = fmt::format("{}{}/", base, bucket)};
  Endpoint own = service;
  own.host = fmt::format("{}.{}", bucket, service.host);
  return {.endpoint_url = UrlOf(own), .path = base};
}

Result<std::unique_ptr<S3Connection>> S3Connection::Open(const S3Options& options,
                                                         const Clock& clock,
                                                         const HostEnvironment& environment) {
  WEIR_RETURN_IF_ERROR(CheckS3Bucket(options.bucket));
  ServiceConnectionOptions how;
  how.service = {.service = "s3",
                 .region = options.region,
                 .endpoint_url = options.endpoint_url,
                 .profile = {}};
  WEIR_ASSIGN_OR_RETURN(const ServiceLocation location, LocateService(how.service, environment));
  S3Address address = AddressOf(options.bucket, location.endpoint, options.addressing);
  how.service.region = location.region;
  how.service.endpoint_url = std::move(address.endpoint_url);
  how.client.attempt_timeout = kResponseWithin;
  how.transport.max_response_bytes = options.max_bytes;
  how.log = options.log;
  WEIR_ASSIGN_OR_RETURN(auto service, ServiceConnection::Open(std::move(how), clock, environment));
  return std::unique_ptr<S3Connection>(
      new S3Connection(std::move(service), std::move(address.path)));
}

}  // namespace weir
