#include "weir/aws/credentials/credential_sources.h"

#include <aws/auth/credentials.h>
#include <aws/http/proxy.h>

#include <array>
#include <cstdlib>

namespace weir::internal {

void ReleaseProvider(aws_credentials_provider* provider) {
  aws_credentials_provider_release(provider);
}

namespace {

// The same proxy as for requests: HTTPS_PROXY and NO_PROXY.
constexpr proxy_env_var_settings kProxyVariables{.env_var_type = AWS_HPEV_ENABLE};

/// The runtime reads AWS_PROFILE only if the cursor is null.
aws_byte_cursor ProfileName(const std::string& profile) {
  return profile.empty() ? aws_byte_cursor{} : Cursor(profile);
}

ProviderHandle OpenEnvironment(const CrtRuntime& runtime, const std::string& profile) {
  if (!profile.empty()) return nullptr;
  const aws_credentials_provider_environment_options options{};
  return ProviderHandle(aws_credentials_provider_new_environment(runtime.allocator(), &options));
}

ProviderHandle OpenProfile(const CrtRuntime& runtime, const std::string& profile) {
  aws_credentials_provider_profile_options options{};
  options.profile_name_override = ProfileName(profile);
  options.bootstrap = runtime.bootstrap();
  options.tls_ctx = runtime.tls();
  // Not const, because this struct, unlike the others, takes a pointer to non-const.
  static proxy_env_var_settings proxy = kProxyVariables;
  options.proxy_ev_settings = &proxy;
  return ProviderHandle(aws_credentials_provider_new_profile(runtime.allocator(), &options));
}

ProviderHandle OpenSso(const CrtRuntime& runtime, const std::string& profile) {
  aws_credentials_provider_sso_options options{};
  options.profile_name_override = ProfileName(profile);
  options.bootstrap = runtime.bootstrap();
  options.tls_ctx = runtime.tls();
  options.proxy_ev_settings = &kProxyVariables;
  return ProviderHandle(aws_credentials_provider_new_sso(runtime.allocator(), &options));
}

ProviderHandle OpenWebIdentity(const CrtRuntime& runtime, const std::string& profile) {
  aws_credentials_provider_sts_web_identity_options options{};
  options.profile_name_override = ProfileName(profile);
  options.bootstrap = runtime.bootstrap();
  options.tls_ctx = runtime.tls();
  options.proxy_ev_settings = &kProxyVariables;
  return ProviderHandle(
      aws_credentials_provider_new_sts_web_identity(runtime.allocator(), &options));
}

ProviderHandle OpenContainer(const CrtRuntime& runtime, const std::string&) {
  aws_credentials_provider_ecs_environment_options options{};
  options.bootstrap = runtime.bootstrap();
  options.tls_ctx = runtime.tls();
  return ProviderHandle(
      aws_credentials_provider_new_ecs_from_environment(runtime.allocator(), &options));
}

bool MetadataDisabled() {
  const char* const value = std::getenv("AWS_EC2_METADATA_DISABLED");
  return value != nullptr && LowerCase(value) != "false";
}

ProviderHandle OpenInstanceMetadata(const CrtRuntime& runtime, const std::string&) {
  if (MetadataDisabled()) return nullptr;
  aws_credentials_provider_imds_options options{};
  options.bootstrap = runtime.bootstrap();
  options.imds_version = IMDS_PROTOCOL_V2;
  options.ec2_metadata_v1_disabled = true;
  return ProviderHandle(aws_credentials_provider_new_imds(runtime.allocator(), &options));
}

constexpr std::array kSources{CredentialSource{"environment", &OpenEnvironment},
                              CredentialSource{"profile", &OpenProfile},
                              CredentialSource{"SSO", &OpenSso},
                              CredentialSource{"web identity", &OpenWebIdentity},
                              CredentialSource{"container", &OpenContainer},
                              CredentialSource{"instance metadata", &OpenInstanceMetadata}};

}  // namespace

std::span<const CredentialSource> CredentialSources() { return kSources; }

}  // namespace weir::internal
