// The keys that Signature Version 4 derives from a secret access key, one for each day.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "weir/aws/signing/signer.h"
#include "weir/base/mutex.h"
#include "weir/codec/sha256.h"

namespace weir::internal {

/// Caches the last two keys: at midnight some requests are still signed for the day before, and
/// while credentials change some requests use the old ones. Thread-safe. Secrets are wiped when
/// they are replaced.
class SigningKeyCache {
 public:
  explicit SigningKeyCache(SigningScope scope);
  ~SigningKeyCache();

  /// Returns the key for a secret, which must not be empty, and a day as yyyymmdd. Returns
  /// kInternal if OpenSSL fails.
  Result<Sha256Digest> KeyOf(std::string_view secret, std::string_view day);

 private:
  struct Entry {
    std::string secret, day;
    Sha256Digest key;
  };

  Result<Sha256Digest> DeriveKey(std::string_view secret, std::string_view day) const;

  const SigningScope scope_;
  Mutex mutex_;
  std::array<Entry, 2> entries_ WEIR_GUARDED_BY(mutex_);
  std::size_t last_used_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir::internal
