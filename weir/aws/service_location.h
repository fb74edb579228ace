// Where a service is, as AWS's SDKs find it: region and endpoint from options, environment, files.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "weir/aws/endpoint.h"
#include "weir/base/result.h"

namespace weir {

/// What is read besides the options. Both are called only while LocateService runs.
struct HostEnvironment {
  std::function<std::optional<std::string>(std::string_view name)> environment;
  /// The text of a file; kNotFound where there is none.
  std::function<Result<std::string>(const std::string& path)> read_file;
};

struct ServiceOptions {
  std::string
      service;  ///< AWS's identifier: "dynamodb", "dynamodb_streams", "kinesis", "cloudwatch"
  std::optional<std::string> region;
  std::optional<std::string> endpoint_url;
  std::optional<std::string> profile;
};

struct ServiceLocation {
  std::string region;  ///< to sign for
  Endpoint endpoint;

  friend bool operator==(const ServiceLocation&, const ServiceLocation&) = default;
};

/// By which a request to the service of this identifier is signed: "monitoring" for "cloudwatch".
std::string_view SigningName(std::string_view service);

/// The first that is there and not empty:
///   region: options, AWS_REGION, AWS_DEFAULT_REGION, `region` of the profile;
///   endpoint: options, AWS_ENDPOINT_URL_<SERVICE>, AWS_ENDPOINT_URL, `endpoint_url` of the service
///   in the profile's services section, `endpoint_url` of the profile, the region's own. With
///   AWS_IGNORE_CONFIGURED_ENDPOINT_URLS, or the profile's setting of that name, being true, only
///   the first and the last;
///   profile: options, AWS_PROFILE, "default"; read from AWS_CONFIG_FILE or ~/.aws/config, and from
///   AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials, which counts where both say something.
/// (AWS SDKs and Tools Reference Guide, "Service-specific endpoints", "AWS Region"; as botocore.)
/// FIPS and dual-stack endpoints are not chosen; name one by its URL.
///
/// kInvalidArgument: no region, a profile or services section that is named and missing, a file or
/// URL that cannot be read. Errors of read_file but kNotFound are passed on.
Result<ServiceLocation> LocateService(const ServiceOptions& options,
                                      const HostEnvironment& surroundings);

}  // namespace weir
