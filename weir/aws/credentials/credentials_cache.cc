#include "weir/aws/credentials/credentials_cache.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace weir {
namespace {

constexpr milliseconds kRefreshAhead = std::chrono::minutes(5);
constexpr milliseconds kRefreshSpread = std::chrono::minutes(1);
constexpr nanoseconds kLongestNap = std::chrono::minutes(1);

UnixMillis BestClock(CredentialsCache::Time at) { return at.service.value_or(at.wall); }

}  // namespace

bool CredentialsCache::HasExpired(const Credentials& credentials, Time at) {
  // Only if both clocks say so: see the class comment.
  return credentials.expires && std::min(at.wall, BestClock(at)) >= *credentials.expires;
}

const Credentials* CredentialsCache::Good(Time at) const {
  if (!good_ || rejected_ || HasExpired(*good_, at)) return nullptr;
  return &*good_;
}

std::optional<Error> CredentialsCache::Failure(Time at) const {
  std::optional<Error> failure = failure_;
  if (failure) {
    const nanoseconds wait = std::max(not_before_ - at.now, nanoseconds(0));
    failure->retry_after = std::chrono::ceil<milliseconds>(wait);
  }
  return failure;
}

std::optional<Error> CredentialsCache::Refusal(Time at) const {
  if (fetching_ || at.now >= not_before_) return std::nullopt;
  return Failure(at);
}

bool CredentialsCache::IsRefreshDue(Time at) const {
  if (!good_ || rejected_) return true;
  return good_->expires && BestClock(at) >= refresh_at_;
}

bool CredentialsCache::BeginFetch(Time at) {
  if (fetching_ || at.now < not_before_ || !IsRefreshDue(at)) return false;
  fetching_ = true;
  return true;
}

void CredentialsCache::Fetched(Result<Credentials> result, Time at) {
  fetching_ = false;
  if (!result) {
    Fail(std::move(result.error()), at);
  } else if (HasExpired(*result, at)) {
    Fail({Code::kUnauthenticated, "the AWS credentials that were found have expired"}, at);
  } else {
    Keep(*std::move(result), at);
  }
}

bool CredentialsCache::Rejected(const Credentials& refused, Time at) {
  if (!good_ || rejected_ || !SameKeys(*good_, refused)) return false;
  // Earlier than not_before_, they were fetched a moment ago, and no other fetch is allowed yet.
  rejected_ = fetching_ || at.now >= not_before_;
  return rejected_;
}

void CredentialsCache::Keep(Credentials credentials, Time at) {
  // The source has returned the same credentials that AWS refused.
  const bool refused_before = std::exchange(rejected_, false) && SameKeys(*good_, credentials);
  failure_.reset();
  good_ = std::move(credentials);
  if (good_->expires) {
    const milliseconds early(rng_.Between(0, kRefreshSpread.count()));
    refresh_at_ = *good_->expires - kRefreshAhead - early;
  }
  const bool due_again = refused_before || (good_->expires && refresh_at_ <= BestClock(at));
  // The source has nothing better yet: delay the next fetch.
  if (!due_again) backoff_.Reset();
  not_before_ = due_again ? at.now + backoff_.Next(rng_) : at.now;
}

void CredentialsCache::Fail(Error error, Time at) {
  failure_ = Error{Code::kUnauthenticated, std::move(error.message)};
  not_before_ = at.now + backoff_.Next(rng_);
}

std::optional<Instant> CredentialsCache::WakeAt(Time at) const {
  if (fetching_ || !good_ || !good_->expires) return std::nullopt;
  const nanoseconds until_due =
      std::clamp<nanoseconds>(refresh_at_ - BestClock(at), nanoseconds(0), kLongestNap);
  return std::max(at.now + until_due, not_before_);
}

}  // namespace weir
