#include "weir/codec/hash_function.h"

#include <openssl/evp.h>

namespace weir {

void HashFunction::Free::operator()(EVP_MD* function) const { EVP_MD_free(function); }
void HashFunction::Free::operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }

HashFunction::HashFunction(const char* name, const char* properties)
    : function_(EVP_MD_fetch(nullptr, name, properties)), context_(EVP_MD_CTX_new()) {}

bool HashFunction::Hash(std::initializer_list<std::string_view> parts,
                        std::span<unsigned char> into) const {
  bool good = function_ != nullptr && context_ != nullptr &&
              EVP_DigestInit_ex2(context_.get(), function_.get(), nullptr) == 1;
  for (const std::string_view part : parts) {
    good = good && EVP_DigestUpdate(context_.get(), part.data(), part.size()) == 1;
  }
  return good && EVP_DigestFinal_ex(context_.get(), into.data(), nullptr) == 1;
}

}  // namespace weir
