#include "weir/kinesis/md5.h"

#include <cstdlib>

#include "weir/aws/hash_function.h"

namespace weir::kinesis {

Md5 Md5Of(std::initializer_list<std::string_view> parts) {
  thread_local const HashFunction md5("MD5");
  Md5 sum{};
  // Without MD5 (an OpenSSL restricted to FIPS) no record of this format can be written.
  if (!md5.Hash(parts, sum)) std::abort();
  return sum;
}

}  // namespace weir::kinesis
