#include "weir/dynamodb/streams/shard_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::dynamo {
namespace {

// The service accepts ten DescribeStream per second for a stream, from all its readers together.
constexpr nanoseconds kLeastListingGap = std::chrono::seconds(1);
// Far more than are expected: a partition has a new shard every four hours, and a shard is listed
// for a day, so a table of 1,000 partitions has about 7,000 shards.
constexpr std::size_t kMaxShards = 100'000;

}  // namespace

ShardListing::ShardListing(const ConsumerOptions& options)
    : options_(options), backoff_(options.first_backoff, options.longest_backoff) {}

std::optional<Instant> ShardListing::due() const {
  return in_flight_ ? std::nullopt : std::optional(due_);
}

ConsumerStep::Request ShardListing::MakeRequest(Instant now) {
  if (token_.empty()) begun_ = now;
  in_flight_ = true;
  return {0, "DescribeStream", DescribeStreamBody(options_.stream_arn, token_)};
}

Result<std::optional<ShardListing::Listed>> ShardListing::OnResponse(
    const Response& response, Instant now, Rng& rng, std::vector<ConsumerEvent>& events) {
  in_flight_ = false;
  if (response) {
    auto page = ReadDescribeStream(*response);
    if (page) return OnPage(*std::move(page), now);
    TryAgain(page.error(), false, now, rng, events);
    return std::nullopt;
  }
  const FailureClass kind = response.error().kind;
  if (kind == FailureClass::kPermanent || kind == FailureClass::kAuth) {
    return Fail(ToError(response.error()));
  }
  TryAgain(ToError(response.error()), kind == FailureClass::kThrottle, now, rng, events);
  return std::nullopt;
}

Result<std::optional<ShardListing::Listed>> ShardListing::OnPage(StreamPage page, Instant now) {
  backoff_.Reset();
  failing_ = false;
  std::ranges::move(page.shards, std::back_inserter(found_));
  if (found_.size() > kMaxShards) {
    return Fail(Code::kResourceExhausted,
                fmt::format("DescribeStream: more than {} shards", kMaxShards));
  }
  token_ = std::move(page.last_shard);
  if (!token_.empty()) {
    due_ = now;
    return std::nullopt;
  }
  due_ = now + (std::exchange(is_another_wanted_, false) ? kLeastListingGap
                                                         : options_.discovery_interval);
  return Listed{std::exchange(found_, {}), begun_};
}

void ShardListing::TryAgain(const Error& error, bool is_throttle, Instant now, Rng& rng,
                            std::vector<ConsumerEvent>& events) {
  due_ = now + backoff_.Next(rng);
  if (is_throttle || std::exchange(failing_, true)) return;
  events.emplace_back(RequestsFailing{{}, error});
}

void ShardListing::Want(Instant now) {
  if (in_flight_ || !token_.empty()) {
    is_another_wanted_ = true;
    return;
  }
  due_ = std::min(due_, std::max(now, begun_ + kLeastListingGap));
}

}  // namespace weir::dynamo
