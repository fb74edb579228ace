// Credentials from where AWS's own tools look for them.
#pragma once

#include <memory>
#include <string>

#include "weir/aws/credentials.h"
#include "weir/aws/crt_runtime.h"
#include "weir/base/time.h"

namespace weir {

struct CredentialsOptions {
  /// Of the AWS configuration files, asked for by name: then the environment's keys are passed
  /// over, as by AWS's own tools. Empty: AWS_PROFILE, or else "default".
  std::string profile;
};

/// Asks, in this order: the environment, the profile (keys, role to assume, credential_process),
/// the profile's SSO session, a web identity token, then the container's endpoint or, where there
/// is none, the instance's metadata service (IMDSv2, unless AWS_EC2_METADATA_DISABLED). Files and
/// environment are read anew each time. A place that is not set up is passed over; one that is, but
/// fails, ends the search, because the next might speak for somebody else. The error names each
/// place with what became of it, and no secret.
///
/// Requests are served one after the other on a thread of its own, because credential_process
/// blocks: its answer may so come after the deadline, and without end where the process has none.
/// Put MakeCachedCredentials (credentials_cache.h) around it. The destructor waits for the request
/// that is being served and answers the others kCancelled. The runtime's destructor waits until a
/// place that was given up at the deadline has answered or hung up.
std::unique_ptr<CredentialsProvider> MakeCrtCredentials(const CrtRuntime& runtime,
                                                        const Clock& clock,
                                                        CredentialsOptions options);

}  // namespace weir
