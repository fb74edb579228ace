#include "weir/kinesis/reader/shard_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "weir/aws/json_response.h"
#include "weir/kinesis/shards/shard_ranges.h"

namespace weir::kinesis {
namespace {

constexpr nanoseconds kListingGap = std::chrono::seconds(1);
/// The maximum number of pages of a listing. A page has at most 1,000 shards.
constexpr std::size_t kMaxPages = 1'000;

}  // namespace

void ShardListing::Want() {
  const bool is_running = id_ != 0 || !token_.empty();
  (is_running ? again_ : wanted_) = true;
}

std::optional<Instant> ShardListing::NextWake() const {
  if (!wanted_ || id_ != 0) return std::nullopt;
  return due_;
}

const std::string& ShardListing::Begin(std::uint64_t id) {
  wanted_ = false;
  id_ = id;
  return token_;
}

Result<std::optional<ShardListing::Shards>> ShardListing::OnResponse(const Response& response,
                                                                     Instant now,
                                                                     ReadFailures& failures) {
  id_ = 0;
  std::optional<Shards> all_shards;
  auto page = response ? ReadListAllShards(*response) : Result<ReadShards>();
  if (!response || !page) {
    WEIR_RETURN_IF_ERROR(
        OnFailed(response ? UnreadableResponse(page.error()) : response.error(), now, failures));
    return all_shards;
  }
  failures.End(series_);
  if (++pages_ > kMaxPages) {
    return Fail(Code::kResourceExhausted, fmt::format("ListShards: more than {} pages", kMaxPages));
  }
  std::ranges::move(page->shards, std::back_inserter(found_));
  token_ = std::move(page->next_token);
  wanted_ |= !token_.empty();
  if (!token_.empty()) return all_shards;
  if (!IsEnough()) {
    WEIR_RETURN_IF_ERROR(OnIncomplete(now, failures));
    return all_shards;
  }
  failures.End(whole_series_);
  whole_series_.backoff.Reset();
  all_shards = std::exchange(found_, {});
  return all_shards;
}

bool ShardListing::IsEnough() const {
  if (only_ && std::ranges::count(found_, *only_, &ReadShard::id) > 0) return true;
  ShardRanges open;
  for (const ReadShard& shard : found_) {
    if (!shard.closed) open.PutUncovered({shard.id, shard.range});
  }
  return open.CoverAllKeys();
}

// Each hash key of a stream has an open shard, so the listing has left one out.
Status ShardListing::OnIncomplete(Instant now, ReadFailures& failures) {
  const auto error = MalformedResponse(
      "ListShards", found_.empty() ? "it lists no shard" : "its open shards leave out hash keys");
  DropPages();
  wanted_ = true;
  WEIR_ASSIGN_OR_RETURN(const Instant again,
                        failures.RetryAt(whole_series_, UnreadableResponse(error.value()), now));
  due_ = std::max(again, now + kListingGap);
  return {};
}

void ShardListing::DropPages() {
  token_.clear();
  found_.clear();
  pages_ = 0;
}

Status ShardListing::OnFailed(const AwsFailure& failure, Instant now, ReadFailures& failures) {
  wanted_ = true;
  if (failure.code == "ExpiredNextTokenException") return OnTokenExpired(failure, now, failures);
  WEIR_ASSIGN_OR_RETURN(due_, failures.RetryAt(series_, failure, now));
  return {};
}

Status ShardListing::OnTokenExpired(const AwsFailure& expiry, Instant now, ReadFailures& failures) {
  DropPages();
  WEIR_ASSIGN_OR_RETURN(const Instant again, failures.ReplaceAt(whole_series_, expiry, now));
  due_ = std::max(again, now + kListingGap);
  return {};
}

void ShardListing::Finish(bool is_repeated, Instant now, ReadFailures& failures) {
  pages_ = 0;
  wanted_ = std::exchange(again_, false);
  due_ = now + kListingGap;
  if (!is_repeated) {
    series_.backoff.Reset();
    return;
  }
  wanted_ = true;
  due_ = due_ + failures.NextWait(series_);
}

}  // namespace weir::kinesis
