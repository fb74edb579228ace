#include "weir/aws/signing/signing_key_cache.h"

#include <openssl/crypto.h>

#include <utility>

namespace weir::internal {
namespace {

void WipeSecret(std::string& secret) { OPENSSL_cleanse(secret.data(), secret.size()); }

}  // namespace

SigningKeyCache::SigningKeyCache(SigningScope scope) : scope_(std::move(scope)) {}

SigningKeyCache::~SigningKeyCache() {
  const MutexLock lock(mutex_);
  for (Entry& entry : entries_) WipeSecret(entry.secret);
}

// A key is derived under the lock, once a day: threads that wait for the lock need the same key.
Result<Sha256Digest> SigningKeyCache::KeyOf(std::string_view secret, std::string_view day) {
  const MutexLock lock(mutex_);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].day != day || entries_[i].secret != secret) continue;
    last_used_ = i;
    return entries_[i].key;
  }
  WEIR_ASSIGN_OR_RETURN(Sha256Digest key, DeriveKey(secret, day));
  last_used_ = 1 - last_used_;
  Entry& oldest = entries_[last_used_];
  WipeSecret(oldest.secret);
  oldest.secret = secret;
  oldest.day = day;
  oldest.key = key;
  return key;
}

Result<Sha256Digest> SigningKeyCache::DeriveKey(std::string_view secret,
                                                std::string_view day) const {
  std::string first;
  first.reserve(4 + secret.size());  // so that no reallocation leaves a copy of the secret
  first.append("AWS4").append(secret);
  Result<Sha256Digest> key = HmacSha256(first, day);
  WipeSecret(first);
  for (const std::string_view part :
       {std::string_view(scope_.region), std::string_view(scope_.service),
        std::string_view("aws4_request")}) {
    if (!key) break;
    key = HmacSha256(key->view(), part);
  }
  return key;
}

}  // namespace weir::internal
