// The sources of credentials that AWS's runtime supports, one by one.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "weir/aws/http/crt/crt_handle.h"
#include "weir/aws/http/crt_runtime.h"

struct aws_credentials_provider;

namespace weir::internal {

void ReleaseProvider(aws_credentials_provider* provider);

using ProviderHandle = CrtHandle<aws_credentials_provider, &ReleaseProvider>;

struct CredentialSource {
  std::string_view name;
  /// Returns a provider; null if the source is not set up. `profile` is empty unless it was
  /// requested by name. The runtime must outlive the provider.
  ProviderHandle (*open)(const CrtRuntime& runtime, const std::string& profile);
};

/// Returns the sources in the order in which to try them.
std::span<const CredentialSource> CredentialSources();

}  // namespace weir::internal
