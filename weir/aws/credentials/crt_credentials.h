// Credentials from the sources that AWS's own tools use.
#pragma once

#include <memory>
#include <string>

#include "weir/aws/credentials/credentials.h"
#include "weir/aws/http/crt_runtime.h"
#include "weir/base/time.h"

namespace weir {

struct CredentialsOptions {
  /// A profile of the AWS configuration files, requested by name: then the keys of the environment
  /// are ignored, as by AWS's own tools. Empty: AWS_PROFILE, or else "default".
  std::string profile;
};

/// Returns a provider that tries, in this order: the environment, the profile (keys, role to
/// assume, credential_process), the profile's SSO session, a web identity token, then the
/// container's endpoint or, if there is none, the instance's metadata service (IMDSv2, unless
/// AWS_EC2_METADATA_DISABLED). Files and environment are read again at each call. A source that is
/// not set up is skipped; one that is set up but fails ends the search, because the next source
/// might have the credentials of another identity. The error names each source with its outcome,
/// and no secret.
///
/// Calls are processed one after the other on a thread of the provider, because credential_process
/// blocks. A result may therefore come after the deadline, or never if the process does not end;
/// put MakeCachedCredentials (caching_provider.h) around the provider. The destructor waits for
/// the call that is being processed and completes the pending ones with kCancelled. The runtime's
/// destructor waits until a source that was abandoned at the deadline has responded or
/// disconnected.
std::unique_ptr<CredentialsProvider> MakeCrtCredentials(const CrtRuntime& runtime,
                                                        const Clock& clock,
                                                        CredentialsOptions options);

}  // namespace weir
