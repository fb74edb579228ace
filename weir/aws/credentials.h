// Who signs.
#pragma once

#include <optional>
#include <string>

#include "weir/base/done.h"
#include "weir/base/time.h"
#include "weir/runtime/deadline.h"

namespace weir {

/// Never printed: no operator<<, no formatter, and no error of ours carries one.
struct Credentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;          ///< empty: none
  std::optional<UnixMillis> expires;  ///< nothing: never
};

/// By what is signed with, whenever they expire.
inline bool SameKeys(const Credentials& a, const Credentials& b) {
  return a.access_key_id == b.access_key_id && a.secret_access_key == b.secret_access_key &&
         a.session_token == b.session_token;
}

/// Thread-safe. `done` as weir/base/done.h says.
class CredentialsProvider {
 public:
  virtual ~CredentialsProvider() = default;
  /// Credentials that are valid now. kUnauthenticated: none are to be had, naming the places that
  /// were asked; kDeadlineExceeded: not in time.
  virtual void Get(Deadline deadline, Done<Credentials> done) = 0;
  /// AWS refused these, which Get gave, as expired or unknown. Whoever keeps credentials looks for
  /// others before the next answer; there may be only the same ones. To be called under no lock.
  /// Who keeps none need not care.
  virtual void Rejected(const Credentials& refused) { static_cast<void>(refused); }
  /// By the Date of the service's responses its clock shows `now`: credentials expire by that, not
  /// by the wall clock of this machine. To be called under no lock, when the time becomes known and
  /// when it has changed otherwise than by the time that passed.
  virtual void SetServiceTime(UnixMillis now) { static_cast<void>(now); }
};

}  // namespace weir
