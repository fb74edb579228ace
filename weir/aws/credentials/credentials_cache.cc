#include "weir/aws/credentials/credentials_cache.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace weir {
namespace {

constexpr milliseconds kRefreshAhead = std::chrono::minutes(5);
constexpr milliseconds kRefreshSpread = std::chrono::minutes(1);
constexpr milliseconds kLongestNap = std::chrono::minutes(1);

UnixMillis BestClock(CredentialsCache::Time at) { return at.service.value_or(at.wall); }

}  // namespace

bool CredentialsCache::HasExpired(const Credentials& credentials, Time at) {
  // Only if both clocks say so: see the class comment.
  return credentials.expires && std::min(at.wall, BestClock(at)) >= *credentials.expires;
}

const Credentials* CredentialsCache::Valid(Time at) const {
  if (!credentials_ || rejected_ || HasExpired(*credentials_, at)) return nullptr;
  return &*credentials_;
}

std::optional<Error> CredentialsCache::Failure(Time at) const {
  std::optional<Error> failure = failure_;
  if (failure) {
    const nanoseconds wait = std::max(not_before_ - at.now, nanoseconds(0));
    failure->retry_after = std::chrono::ceil<milliseconds>(wait);
  }
  return failure;
}

std::optional<Error> CredentialsCache::FetchError(Time at) const {
  if (fetching_ || at.now >= not_before_) return std::nullopt;
  return Failure(at);
}

bool CredentialsCache::IsRefreshDue(Time at) const {
  if (!credentials_ || rejected_) return true;
  return credentials_->expires && BestClock(at) >= refresh_at_;
}

bool CredentialsCache::BeginFetch(Time at) {
  if (fetching_ || at.now < not_before_ || !IsRefreshDue(at)) return false;
  fetching_ = true;
  return true;
}

void CredentialsCache::Fetched(Result<Credentials> result, Time at) {
  fetching_ = false;
  if (!result) {
    StoreError(std::move(result.error()), at);
  } else if (HasExpired(*result, at)) {
    StoreError({Code::kUnauthenticated, "the AWS credentials that were found have expired"}, at);
  } else {
    StoreFetched(*std::move(result), at);
  }
}

bool CredentialsCache::Rejected(const Credentials& refused, Time at) {
  if (!credentials_ || rejected_ || !SameKeys(*credentials_, refused)) return false;
  // Before not_before_ no other fetch is allowed, so the rejection has no effect.
  rejected_ = fetching_ || at.now >= not_before_;
  return rejected_;
}

void CredentialsCache::StoreFetched(Credentials credentials, Time at) {
  // The source has returned the same credentials that AWS refused.
  const bool refused_before =
      std::exchange(rejected_, false) && SameKeys(*credentials_, credentials);
  failure_.reset();
  credentials_ = std::move(credentials);
  if (credentials_->expires) {
    const milliseconds early(rng_.Between(0, kRefreshSpread.count()));
    refresh_at_ = *credentials_->expires - kRefreshAhead - early;
  }
  const bool due_again = refused_before || (credentials_->expires && refresh_at_ <= BestClock(at));
  // If a refresh is due again, the source has nothing better yet: delay the next fetch.
  if (!due_again) backoff_.Reset();
  not_before_ = due_again ? at.now + backoff_.Next(rng_) : at.now;
}

void CredentialsCache::StoreError(Error error, Time at) {
  failure_ = Error{Code::kUnauthenticated, std::move(error.message)};
  not_before_ = at.now + backoff_.Next(rng_);
}

std::optional<Instant> CredentialsCache::WakeAt(Time at) const {
  if (fetching_ || !credentials_ || !credentials_->expires) return std::nullopt;
  // In milliseconds: credentials may expire in the year 9999, which is too far for nanoseconds.
  const milliseconds until_due =
      std::clamp(refresh_at_ - BestClock(at), milliseconds(0), kLongestNap);
  return std::max(at.now + until_due, not_before_);
}

}  // namespace weir
