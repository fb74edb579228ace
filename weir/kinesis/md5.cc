#include "weir/kinesis/md5.h"

#include <openssl/evp.h>

#include <cstdlib>
#include <memory>

namespace weir::kinesis {
namespace {

struct Free {
  void operator()(EVP_MD* digest) const { EVP_MD_free(digest); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

// Looking the algorithm up costs more than hashing a partition key, so it is done once a thread.
struct Hasher {
  std::unique_ptr<EVP_MD, Free> digest{EVP_MD_fetch(nullptr, "MD5", nullptr)};
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
};

}  // namespace

Md5 Md5Of(std::initializer_list<std::string_view> parts) {
  thread_local const Hasher hasher;
  Md5 sum{};
  bool good = hasher.digest != nullptr && hasher.context != nullptr &&
              EVP_DigestInit_ex2(hasher.context.get(), hasher.digest.get(), nullptr) == 1;
  for (const std::string_view part : parts) {
    good = good && EVP_DigestUpdate(hasher.context.get(), part.data(), part.size()) == 1;
  }
  good = good && EVP_DigestFinal_ex(hasher.context.get(), sum.data(), nullptr) == 1;
  // Without MD5 (an OpenSSL restricted to FIPS) no record of this format can be written.
  if (!good) std::abort();
  return sum;
}

}  // namespace weir::kinesis
