#include "weir/kinesis/md5.h"

#include <cstdlib>

#include "weir/aws/hash_function.h"

namespace weir::kinesis {

Md5 Md5Of(std::initializer_list<std::string_view> parts) {
  // Nothing secret depends on it, so a restriction to FIPS is none for it.
  thread_local const HashFunction md5("MD5", "-fips");
  Md5 sum{};
  // An OpenSSL without MD5 altogether: no record of this format can be written.
  if (!md5.Hash(parts, sum)) std::abort();
  return sum;
}

}  // namespace weir::kinesis
