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

/// Thread-safe. `done` as weir/base/done.h says.
class CredentialsProvider {
 public:
  virtual ~CredentialsProvider() = default;
  /// Credentials that are valid now. kUnauthenticated: none are to be had, naming the places that
  /// were asked; kDeadlineExceeded: not in time.
  virtual void Get(Deadline deadline, Done<Credentials> done) = 0;
};

}  // namespace weir
