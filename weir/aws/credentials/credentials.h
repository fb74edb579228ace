// The credentials that requests are signed with, and their providers.
#pragma once

#include <optional>
#include <string>

#include "weir/base/api.h"
#include "weir/base/done.h"
#include "weir/base/time.h"
#include "weir/runtime/deadline.h"

namespace weir {

/// Never printed: there is no operator<< and no formatter, and none of our errors contains one.
struct Credentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;          ///< empty: none
  std::optional<UnixMillis> expires;  ///< nothing: they never expire
};

/// Returns whether both have the same keys and session token. Expiries are not compared.
inline bool SameKeys(const Credentials& a, const Credentials& b) {
  return a.access_key_id == b.access_key_id && a.secret_access_key == b.secret_access_key &&
         a.session_token == b.session_token;
}

/// Thread-safe. `done` obeys weir/base/done.h.
class WEIR_API CredentialsProvider {
 public:
  virtual ~CredentialsProvider() = default;
  /// Gets credentials that are valid now. Errors: kUnauthenticated if there are none, with the
  /// sources that were tried; kDeadlineExceeded.
  virtual void Get(Deadline deadline, Done<Credentials> done) = 0;
  /// Reports that AWS refused these credentials, which Get returned, as expired or unknown. A
  /// provider that caches credentials fetches again before its next result, and may fetch the same
  /// ones; other providers need not override this. To be called under no lock.
  virtual void Rejected(const Credentials& refused) { static_cast<void>(refused); }
  /// Reports that the service's clock shows `now`, by the Date of its responses: credentials expire
  /// by that clock, not by the wall clock of this machine. To be called under no lock, when the
  /// service's time becomes known, and when it has changed by more or less than the time that
  /// passed.
  virtual void SetServiceTime(UnixMillis now) { static_cast<void>(now); }
};

}  // namespace weir
