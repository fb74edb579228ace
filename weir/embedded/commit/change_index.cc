#include "weir/embedded/commit/change_index.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/embedded/rows/bucket_codec.h"

namespace weir {
namespace {

// Bounds the cost of damage: further changes with unreadable keys are numbered, but not compared
// with buckets.
constexpr std::size_t kMaxUnknown = 1000;
constexpr std::size_t kLongestKeyText = 4096;
constexpr std::size_t kMaxDifferences = 1;

// Returns the text with which a change of this bucket begins.
std::string KeyText(const BucketKey& key) {
  std::string text = "[";
  AppendQuoted(text, key.entity);
  text += ',';
  AppendQuoted(text, key.resource);
  return text += fmt::format(",{}", key.shard);
}

// A truncated line resembles all keys that begin with it.
bool Resembles(std::string_view line, std::string_view key) {
  const std::size_t size = std::min(line.size(), key.size());
  std::size_t differences = 0;
  for (std::size_t i = 0; i < size && differences <= kMaxDifferences; ++i) {
    if (line[i] != key[i]) ++differences;
  }
  return differences <= kMaxDifferences;
}

}  // namespace

LatestChange& ChangeIndex::At(const BucketKeyView& key) {
  const auto at = map_.find(key);
  if (at != map_.end()) return at->second;
  return map_
      .try_emplace({.entity = std::string(key.entity),
                    .resource = std::string(key.resource),
                    .shard = key.shard})
      .first->second;
}

void ChangeIndex::Add(const Change& change) {
  LatestChange& latest = At({change.entity, change.resource, change.shard});
  latest.time = change.time;
  latest.limits = change.limits;
  latest.extras = change.extras;
  latest.use = change.use;
  latest.is_readable = true;
  latest.order = ++order_;
}

void ChangeIndex::Add(const DamagedChange& change) {
  ++order_;
  if (change.key) {
    LatestChange& latest = At(BucketKeyView::Of(*change.key));
    latest.is_readable = false;
    latest.order = order_;
  } else if (keyless_changes_.size() < kMaxUnknown) {
    keyless_changes_.push_back(
        {.line = std::string(change.rest_of_row.substr(0, kLongestKeyText)), .order = order_});
  }
}

bool ChangeIndex::MayBeOverridden(const BucketKey& key) const {
  if (keyless_changes_.empty()) return false;
  const auto at = map_.find(key);
  const std::size_t order = at == map_.end() ? 0 : at->second.order;
  const std::string text = KeyText(key);
  return std::ranges::any_of(keyless_changes_, [&](const UnknownChange& change) {
    return change.order > order && Resembles(change.line, text);
  });
}

}  // namespace weir
