#include "weir/kinesis/wire/md5.h"

#include <cstdlib>

#include "weir/codec/hash_function.h"

namespace weir::kinesis {

Md5 Md5Of(std::initializer_list<std::string_view> parts) {
  // Nothing secret depends on this hash, so it is allowed under FIPS restrictions, too.
  thread_local const HashFunction md5("MD5", "-fips");
  Md5 sum{};
  // With an OpenSSL that has no MD5, no record of this format can be written.
  if (!md5.Hash(parts, sum)) std::abort();
  return sum;
}

}  // namespace weir::kinesis
