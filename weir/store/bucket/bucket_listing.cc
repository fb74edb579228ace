#include "weir/store/bucket/bucket_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "weir/base/integer_text.h"
#include "weir/bucket/key_hash.h"
#include "weir/store/bucket/bucket_state.h"
#include "weir/store/bucket/bucket_stripe.h"

namespace weir {
namespace {

bool Matches(const BucketFilter& filter, const BucketKey& key) {
  return (!filter.entity || *filter.entity == key.entity) &&
         (!filter.resource || *filter.resource == key.resource);
}

// The beginning of a page: a stripe, and the key of the last listed bucket. A stripe is listed in
// the order of keys.
struct PageStart {
  std::size_t stripe = 0;
  std::optional<BucketKey> after;
};

// In another process a bucket has another hash, and so another stripe. A cursor therefore has a
// mark of its process, and is refused in others. The mark reveals nothing about the hashes of
// names.
std::uint32_t MarkOfProcess() {
  return static_cast<std::uint32_t>(HashNames("cursor", "of buckets") >> 32);
}

std::string FormatCursor(const BucketKey& key) {
  return fmt::format("{}#{}#{}#{}", MarkOfProcess(), key.entity, key.resource, key.shard);
}

std::optional<PageStart> ReadCursor(std::string_view text, std::size_t stripes) {
  // The parts are separated by '#', which neither an entity nor a resource may contain.
  std::array<std::string_view, 4> parts;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t separator = text.find('#');
    if (separator == text.npos) return std::nullopt;
    parts[i] = text.substr(0, separator);
    text.remove_prefix(separator + 1);
  }
  parts[3] = text;
  const auto mark = ReadInteger<std::uint32_t>(parts[0]);
  const auto shard = ReadInteger<std::uint32_t>(parts[3]);
  if (!mark || !shard) return std::nullopt;
  if (*mark != MarkOfProcess()) return std::nullopt;
  BucketKey after{std::string(parts[1]), std::string(parts[2]), *shard};
  return PageStart{.stripe = StripeOf(HashOf(after), stripes), .after = std::move(after)};
}

// Appends the matching buckets after `start.after`. Returns false if the page was full before the
// end of the stripe.
bool AppendStripe(const BucketFilter& filter, const PageStart& start, BucketStripe& stripe,
                  std::size_t limit, Page<BucketRecord>& page) {
  const MutexLock lock(stripe.mutex);
  std::vector<const BucketEntry*> found;
  const auto add = [&](const BucketEntry& entry) {
    const BucketKey& key = entry.key();
    if (Matches(filter, key) && (!start.after || *start.after < key)) found.push_back(&entry);
  };
  if (filter.entity) {
    const BucketEntry* entry = stripe.FirstOf(*filter.entity);
    for (; entry != nullptr; entry = entry->next_of_entity) add(*entry);
  } else {
    for (const auto& entry : stripe.entries) add(*entry);
  }
  std::ranges::sort(found, {}, [](auto* entry) -> const BucketKey& { return entry->key(); });
  for (const BucketEntry* entry : found) {
    if (page.items.size() == limit) return false;
    page.items.push_back(RecordOf(entry->state));
  }
  return true;
}

}  // namespace

Result<Page<BucketRecord>> ListBuckets(Stripes stripes, const BucketFilter& filter,
                                       const PageRequest& request) {
  std::optional<PageStart> start = PageStart{};
  if (!request.cursor.empty()) start = ReadCursor(request.cursor, stripes.size());
  if (!start || request.limit == 0) {
    return Fail(Code::kInvalidArgument,
                fmt::format("page cursor '{}', limit {}: use an empty cursor or the one of the "
                            "previous page, and a limit of at least 1; a cursor is valid in the "
                            "process that returned it",
                            request.cursor, request.limit));
  }
  Page<BucketRecord> page;
  for (; start->stripe < stripes.size(); *start = {.stripe = start->stripe + 1, .after = {}}) {
    if (AppendStripe(filter, *start, *stripes[start->stripe], request.limit, page)) continue;
    // The last item may be in an earlier stripe: the page may have been full when this stripe
    // began.
    page.next = FormatCursor(page.items.back().key);
    break;
  }
  return page;
}

}  // namespace weir
