#include "weir/aws/credentials/crt_credentials.h"

#include <aws/auth/auth.h>
#include <aws/auth/credentials.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "weir/aws/credentials/credential_sources.h"
#include "weir/aws/http/crt/crt_handle.h"
#include "weir/base/owed_result.h"
#include "weir/runtime/loop.h"

namespace weir {
namespace {

using internal::View;

/// The runtime opens the environment and the profile whether they are set up or not; these errors
/// mean that the source is not set up.
bool IsNotSetUp(int error) {
  return error == AWS_AUTH_CREDENTIALS_PROVIDER_INVALID_ENVIRONMENT ||
         error == AWS_AUTH_CREDENTIALS_PROVIDER_PROFILE_SOURCE_FAILURE;
}

Credentials CopyCredentials(const aws_credentials* from) {
  Credentials to{
      .access_key_id = std::string(View(aws_credentials_get_access_key_id(from))),
      .secret_access_key = std::string(View(aws_credentials_get_secret_access_key(from))),
      .session_token = std::string(View(aws_credentials_get_session_token(from))),
      .expires = std::nullopt};
  const std::uint64_t seconds = aws_credentials_get_expiration_timepoint_seconds(from);
  constexpr std::uint64_t kLast = std::numeric_limits<std::int64_t>::max() / 1000;
  if (seconds <= kLast) to.expires = UnixMillis{static_cast<std::int64_t>(seconds) * 1000};
  return to;
}

struct SourceResult {
  std::optional<Credentials> credentials;
  int error = 0;
};

/// One request to one source, for which this thread waits.
class SourceCall {
 public:
  /// Returns nothing if the source did not respond in time. It may respond later, so the callback
  /// and this thread share the object.
  static std::optional<SourceResult> Run(aws_credentials_provider* provider, nanoseconds wait) {
    const auto call = std::make_shared<SourceCall>();
    auto* const for_callback = new std::shared_ptr<SourceCall>(call);
    if (aws_credentials_provider_get_credentials(provider, &OnResponse, for_callback) != 0) {
      delete for_callback;
      return SourceResult{.credentials = std::nullopt, .error = aws_last_error()};
    }
    return call->WaitForResult(wait);
  }

 private:
  static void OnResponse(aws_credentials* credentials, int error, void* call) {
    const std::unique_ptr<std::shared_ptr<SourceCall>> self(
        static_cast<std::shared_ptr<SourceCall>*>(call));
    const MutexLock lock((*self)->mutex_);
    (*self)->response_.emplace();
    (*self)->response_->error = error;
    if (credentials != nullptr) (*self)->response_->credentials = CopyCredentials(credentials);
    (*self)->completed_.notify_all();
  }

  std::optional<SourceResult> WaitForResult(nanoseconds wait) {
    const auto until = std::chrono::steady_clock::now() + wait;
    MutexLock lock(mutex_);
    while (!response_) {
      if (completed_.wait_until(mutex_, until) == std::cv_status::timeout) break;
    }
    return std::exchange(response_, std::nullopt);
  }

  Mutex mutex_;
  std::condition_variable_any completed_;
  std::optional<SourceResult> response_ WEIR_GUARDED_BY(mutex_);
};

/// A longer wait is practically endless; the bound keeps the arithmetic of wait_until safe.
constexpr nanoseconds kLongestWait = std::chrono::hours(24);

/// Tries one source after the other, and collects their outcomes for the error.
class CredentialSearch {
 public:
  CredentialSearch(const CrtRuntime& runtime, const Clock& clock, const std::string& profile)
      : runtime_(runtime), clock_(clock), profile_(profile) {}

  Result<Credentials> Run(Deadline deadline) {
    for (const internal::CredentialSource& source : internal::CredentialSources()) {
      if (std::optional<Result<Credentials>> found = TrySource(source, deadline))
        return *std::move(found);
    }
    return NotFound(Code::kUnauthenticated);
  }

 private:
  /// Returns nothing if the search should continue with the next source.
  std::optional<Result<Credentials>> TrySource(const internal::CredentialSource& source,
                                               Deadline deadline) {
    const internal::ProviderHandle provider = source.open(runtime_, profile_);
    if (provider == nullptr) return AddNote(source, "not set up");
    const nanoseconds left = std::min(deadline.Left(clock_.Now()), kLongestWait);
    std::optional<SourceResult> response = SourceCall::Run(provider.get(), left);
    if (!response) {
      AddNote(source, "no response in time");
      return NotFound(Code::kDeadlineExceeded);
    }
    if (response->credentials) return *std::move(response->credentials);
    AddNote(source, internal::CrtError(response->error));
    if (IsNotSetUp(response->error)) return std::nullopt;
    return NotFound(Code::kUnauthenticated);
  }

  /// Adds an outcome to the error.
  std::nullopt_t AddNote(const internal::CredentialSource& source, std::string_view what) {
    fmt::format_to(std::back_inserter(notes_), "{}{}: {}", notes_.empty() ? "" : ", ", source.name,
                   what);
    return std::nullopt;
  }

  Result<Credentials> NotFound(Code code) const {
    const std::string profile = profile_.empty() ? "" : fmt::format(" for profile '{}'", profile_);
    return Fail(code, fmt::format("no AWS credentials{} ({})", profile, notes_));
  }

  const CrtRuntime& runtime_;
  const Clock& clock_;
  const std::string& profile_;
  std::string notes_;
};

/// A pending call.
using CredentialsRequest = OwedResult<Credentials, "the AWS credentials are being closed">;

class CrtCredentials final : public CredentialsProvider {
 public:
  CrtCredentials(const CrtRuntime& runtime, const Clock& clock, CredentialsOptions options)
      : runtime_(runtime), clock_(clock), profile_(std::move(options.profile)), helper_(clock) {}

  void Get(Deadline deadline, Done<Credentials> done) override {
    helper_.Post([this, deadline, request = CredentialsRequest(std::move(done))]() mutable {
      request(CredentialSearch(runtime_, clock_, profile_).Run(deadline));
    });
  }

 private:
  const CrtRuntime& runtime_;
  const Clock& clock_;
  const std::string profile_;
  /// Used only by this provider, so its tasks may block.
  Loop helper_;
};

}  // namespace

std::unique_ptr<CredentialsProvider> MakeCrtCredentials(const CrtRuntime& runtime,
                                                        const Clock& clock,
                                                        CredentialsOptions options) {
  return std::make_unique<CrtCredentials>(runtime, clock, std::move(options));
}

}  // namespace weir
