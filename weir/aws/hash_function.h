// A hash function of OpenSSL's, looked up once.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>

struct evp_md_st;
struct evp_md_ctx_st;

namespace weir {

/// Looking a function up by its name costs more than hashing a short text, so it is kept: one for
/// each thread, since it is not thread-safe.
class HashFunction {
 public:
  /// "SHA256", for example, as OpenSSL knows it. `properties`: OpenSSL's property query; "-fips"
  /// finds a function that an OpenSSL restricted to FIPS leaves out by default.
  explicit HashFunction(const char* name, const char* properties = nullptr);

  /// Of the parts, one after the other. REQUIRES: `into` has the digest's size. False where OpenSSL
  /// fails, as one does that has no such function; `into` is then not to be used.
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
