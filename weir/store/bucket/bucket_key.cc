#include "weir/store/bucket/bucket_key.h"

#include <fmt/format.h>

#include "weir/bucket/key_hash.h"
#include "weir/model/quoted.h"
#include "weir/model/stored_text.h"

namespace weir {
Status CheckBucketText(std::string_view what, std::string_view text) {
  WEIR_RETURN_IF_ERROR(
      CheckText({.what = what, .longest = kLongestBucketText, .may_be_empty = true}, text));
  if (text.find('#') == text.npos) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("{} {} has a '#'; expected a name without '#'", what, Quoted(text)));
}

std::size_t HashOf(const BucketKey& key) { return HashNames(key.entity, key.resource, key.shard); }

}  // namespace weir
