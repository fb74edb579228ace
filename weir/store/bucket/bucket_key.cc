#include "weir/store/bucket/bucket_key.h"

#include <fmt/format.h>

#include "weir/model/quoted.h"
#include "weir/model/stored_text.h"

namespace weir {
namespace {

constexpr std::uint64_t kFnvPrime = 0x100000001b3;

std::uint64_t Fnv1a(std::uint64_t hash, std::string_view bytes) {
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<std::uint64_t>(static_cast<unsigned char>(byte))) * kFnvPrime;
  }
  return hash;
}

// Mixes the bits: those of FNV are weak, and stripes and hash tables use only some of them.
std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdU;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53U;
  return x ^ (x >> 33);
}

}  // namespace

Status CheckBucketText(std::string_view what, std::string_view text) {
  WEIR_RETURN_IF_ERROR(
      CheckText({.what = what, .longest = kLongestBucketText, .may_be_empty = true}, text));
  if (text.find('#') == text.npos) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("{} {} has a '#'; right would be a name without", what, Quoted(text)));
}

std::size_t HashOf(const BucketKey& key) {
  std::uint64_t hash = Fnv1a(0xcbf29ce484222325U, key.entity);
  hash = Fnv1a(hash * kFnvPrime, key.resource);
  return Mix(hash * kFnvPrime + key.shard);
}

}  // namespace weir
