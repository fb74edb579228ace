// A hash function of OpenSSL, looked up once.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>

struct evp_md_st;
struct evp_md_ctx_st;

namespace weir {

/// Looking up a function by its name costs more than hashing a short text, so the result is stored.
/// Not thread-safe: use one object for each thread.
class HashFunction {
 public:
  /// `name` is OpenSSL's name, such as "SHA256". `properties` is OpenSSL's property query; "-fips"
  /// finds a function that an OpenSSL restricted to FIPS omits by default.
  explicit HashFunction(const char* name, const char* properties = nullptr);

  /// Hashes the concatenation of the parts. Returns false if OpenSSL fails, for example because it
  /// has no such function; the contents of `into` are then undefined. REQUIRES: `into` has the size
  /// of the digest.
  bool Hash(std::initializer_list<std::string_view> parts, std::span<unsigned char> into) const;

 private:
  struct Free {
    void operator()(evp_md_st* function) const;
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_st, Free> function_;
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace weir
