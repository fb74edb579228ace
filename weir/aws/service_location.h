// The location of a service, found like AWS's SDKs do: region and endpoint from options,
// environment and files.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "weir/aws/endpoint.h"
#include "weir/base/api.h"
#include "weir/base/result.h"

namespace weir {

/// The inputs besides the options. Both functions are called only during LocateService.
struct HostEnvironment {
  std::function<std::optional<std::string>(std::string_view name)> environment;
  /// Returns the text of a file; kNotFound if it does not exist.
  std::function<Result<std::string>(const std::string& path)> read_file;
};

struct ServiceOptions {
  /// AWS's identifier, for example "dynamodb", "dynamodb_streams" or "s3".
  std::string service;
  std::optional<std::string> region;
  std::optional<std::string> endpoint_url;
  std::optional<std::string> profile;
};

struct ServiceLocation {
  std::string region;  ///< the region to sign for
  Endpoint endpoint;

  friend bool operator==(const ServiceLocation&, const ServiceLocation&) = default;
};

/// Returns the name for which requests to the service are signed: "monitoring" for "cloudwatch",
/// "dynamodb" for "dynamodb_streams".
WEIR_API std::string_view SigningName(std::string_view service);

/// Returns whether the host is in a domain of AWS's services, so not a server that emulates them.
WEIR_API bool IsHostOfAws(std::string_view host);

/// Finds the location of a service. The first source that is set and not empty counts:
///   region: options, AWS_REGION, AWS_DEFAULT_REGION, `region` of the profile;
///   endpoint: options, AWS_ENDPOINT_URL_<SERVICE>, AWS_ENDPOINT_URL, `endpoint_url` of the service
///   in the profile's services section, `endpoint_url` of the profile, the region's default. If
///   AWS_IGNORE_CONFIGURED_ENDPOINT_URLS, or the profile's setting of that name, is true, only the
///   options and the region's default;
///   profile: options, AWS_PROFILE, "default"; read from AWS_CONFIG_FILE or ~/.aws/config, and from
///   AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials, which wins if both have a setting.
/// (AWS SDKs and Tools Reference Guide, "Service-specific endpoints", "AWS Region"; as botocore.)
/// FIPS and dual-stack endpoints are not chosen automatically; give their URL.
///
/// Returns kInvalidArgument if there is no region, if a profile or services section that is named
/// does not exist, or if a file or URL cannot be parsed. Returns errors of read_file except
/// kNotFound.
WEIR_API Result<ServiceLocation> LocateService(const ServiceOptions& options,
                                               const HostEnvironment& environment);

}  // namespace weir
