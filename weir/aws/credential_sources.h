// The sources of credentials that AWS's runtime can ask, one by one.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "weir/aws/crt_handle.h"
#include "weir/aws/crt_runtime.h"

struct aws_credentials_provider;

namespace weir::internal {

void ReleaseProvider(aws_credentials_provider* provider);

using ProviderHandle = CrtHandle<aws_credentials_provider, &ReleaseProvider>;

struct CredentialSource {
  std::string_view name;
  /// Null if the source is not set up. `profile` is empty unless one was asked for by name. The
  /// runtime must outlive what this returns.
  ProviderHandle (*open)(const CrtRuntime& runtime, const std::string& profile);
};

/// In the order in which they are to be asked.
std::span<const CredentialSource> CredentialSources();

}  // namespace weir::internal
