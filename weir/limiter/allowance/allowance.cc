#include "weir/limiter/allowance/allowance.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "weir/bucket/bucket.h"
#include "weir/model/reserved_allowance.h"
#include "weir/runtime/add_saturated.h"

namespace weir {
namespace {

constexpr Instant kLongAgo{INT64_MIN / 2};
/// This many debits may be sent without spacing when demand begins.
constexpr int kAhead = 8;
/// A request is one of many if the demand in a window is at least this many times its amount.
constexpr std::int64_t kMany = 4;
/// When a debit was refused, no debit is sent in turn for this time after the result arrives. So
/// the requests that waited for the result are decided by it, however late it arrives.
constexpr milliseconds kPause{1};
/// After this many consecutive refusals, the balance that they reported causes no debit out of
/// turn: a store may refuse tokens that it shows as available.
constexpr int kMaxRefusals = 4;

// Saturates at kMaxMillitokens, which no capacity exceeds.
std::int64_t SaturatingSum(std::int64_t a, std::int64_t b) {
  return std::min(a + b, kMaxMillitokens);
}

}  // namespace

bool Covers(Allowance::View held, Allowance::View need) {
  return std::ranges::equal(need, held, std::less_equal());
}

std::int64_t SumOf(Allowance::View amounts) {
  return std::accumulate(amounts.begin(), amounts.end(), std::int64_t{0});
}

Allowance::Allowance(milliseconds lifetime, std::vector<Quota> quotas)
    : lifetime_(lifetime),
      usable_(lifetime_ * 3 / 4),
      spacing_(std::min<nanoseconds>(lifetime_ / 2, kLongestSpacing)),
      window_(lifetime_ * 5 / 8),
      quotas_(std::move(quotas)),
      debit_(quotas_.size()),
      seen_(quotas_.size(), kNotSeen),
      left_(quotas_.size(), kNotSeen),
      seen_at_(kLongAgo),
      paid_until_(kLongAgo),
      not_before_(kLongAgo),
      direct_until_(kLongAgo),
      last_request_(kLongAgo),
      window_began_(kLongAgo),
      wanted_(quotas_.size()),
      wanted_before_(quotas_.size()) {
  const auto spacings = std::chrono::ceil<milliseconds>(2 * spacing_);
  for (const Quota& quota : quotas_) out_of_turn_threshold_.push_back(RateTimes(quota, spacings));
}

void Allowance::Want(View need, Instant now) {
  RollDemandWindow(now);
  last_request_ = now;
  for (std::size_t i = 0; i < need.size(); ++i) wanted_[i] = SaturatingSum(wanted_[i], need[i]);
}

bool Allowance::CanDecide(View need, View held, Instant now) const {
  return Covers(held, need) || (!sent_ && now >= direct_until_ && !MayDebit(need, held, now));
}

Allowance::Step Allowance::Ask(View need, Millis held, Instant now) {
  if (Covers(held, need)) {
    SpendTokens(need, now);
    for (std::size_t i = 0; i < need.size(); ++i) held[i] -= need[i];
    return {.verdict = Verdict::kSpent,
            .debit = RunsLow(need, held, now) && BeginDebit({}, held, now)};
  }
  if (sent_) return {.verdict = Verdict::kWait};
  if (now < direct_until_) return {.verdict = Verdict::kCallStore};
  if (!MayDebit(need, held, now)) {
    return {.verdict = Verdict::kRefused, .retry_at = RetryAt(need, held)};
  }
  BeginDebit(need, held, now);
  return {.verdict = Verdict::kWait, .debit = true};
}

void Allowance::SpendTokens(View need, Instant now) {
  for (std::size_t i = 0; i < need.size(); ++i) {
    std::int64_t rest = need[i];
    for (Lot& lot : lots_) {
      if (!IsUsable(lot, now)) continue;
      const std::int64_t part = std::min(rest, lot.left[i]);
      lot.left[i] -= part;
      rest -= part;
    }
  }
}

// A debit is sent ahead only for a limit that is requested often. Tokens that are debited ahead of
// rare requests would expire.
bool Allowance::RunsLow(View need, const Millis& left, Instant now) {
  if (sent_ || now < direct_until_ || now < NextDebit()) return false;
  for (std::size_t i = 0; i < need.size(); ++i) {
    if (need[i] == 0 || left[i] > debit_[i] / 8) continue;
    if (DemandFor(i, now) / kMany >= need[i]) return true;
  }
  return false;
}

// Debits the recent demand, but at most half of the last known balance: other processes do the
// same, so the bucket is shared. The tokens that `need` lacks are debited in any case; `need` is
// empty if no request waits for the debit.
bool Allowance::BeginDebit(View need, const Millis& held, Instant now) {
  const bool in_turn = now >= NextDebit();
  for (std::size_t i = 0; i < quotas_.size(); ++i) {
    const std::int64_t missing = need.empty() ? 0 : std::max<std::int64_t>(need[i] - held[i], 0);
    const std::int64_t wanted = std::max(DemandFor(i, now) - held[i], missing);
    const std::int64_t seen = in_turn || left_[i] == kNotSeen ? seen_[i] : left_[i];
    const std::int64_t max_debit = seen == kNotSeen ? missing : std::max(seen / 2, missing);
    debit_[i] = std::min({wanted, max_debit, quotas_[i].capacity});
  }
  if (SumOf(debit_) == 0) return false;
  sent_ = now;
  // The bound keeps debits out of turn from delaying the debits in turn for more than a spacing.
  paid_until_ = std::min(std::max(paid_until_, now) + spacing_, now + kAhead * spacing_);
  return true;
}

Instant Allowance::NextDebit() const {
  return std::max(not_before_, paid_until_ - (kAhead - 1) * spacing_);
}

// A debit may be sent in turn. It may be sent out of turn if the bucket had the missing tokens
// after the last result, and more than the debits in turn would take: to refuse the request would
// then hold back available tokens. A balance that is not known counts as sufficient, except after a
// refused debit.
bool Allowance::MayDebit(View need, View held, Instant now) const {
  if (now >= NextDebit()) return true;
  const bool refused = now < not_before_;
  if (refused && refusals_ >= kMaxRefusals) return false;
  for (std::size_t i = 0; i < need.size(); ++i) {
    const std::int64_t missing = need[i] - held[i];
    if (missing <= 0) continue;
    if (left_[i] == kNotSeen ? refused
                             : left_[i] < std::max(missing, out_of_turn_threshold_[i] + 1))
      return false;
  }
  return true;
}

// Returns the later of two times: that of the next debit in turn, and the time at which a bucket
// with the last known balance has refilled the missing tokens.
Instant Allowance::RetryAt(View need, View held) const {
  milliseconds wait{0};
  for (std::size_t i = 0; i < need.size(); ++i) {
    if (left_[i] == kNotSeen) continue;
    Meter meter = FullMeter(quotas_[i]);
    meter.tokens = std::min(left_[i], quotas_[i].capacity);
    wait = std::max(wait, RetryAfter(meter, std::max<std::int64_t>(need[i] - held[i], 0)));
  }
  return wait > milliseconds(0) ? std::max(NextDebit(), AddSaturated(seen_at_, wait)) : NextDebit();
}

void Allowance::RecordBalance(View available, Instant now) {
  seen_.assign(available.begin(), available.end());
  left_ = seen_;
  seen_at_ = now;
}

void Allowance::OnDebited(View available, Instant now, Shards paid_by) {
  RecordBalance(available, now);
  refusals_ = 0;
  for (std::size_t i = 0; i < left_.size(); ++i) {
    if (left_[i] != kNotSeen) left_[i] -= debit_[i];
  }
  Lot lot{.sent = *sent_, .left = debit_, .paid_by = std::move(paid_by)};
  sent_.reset();
  if (!IsUsable(lot, now)) direct_until_ = now + spacing_;
  lots_.push_back(std::move(lot));
}

void Allowance::OnRefused(View available, Instant until, Instant now) {
  RecordBalance(available, now);
  if (refusals_ < kMaxRefusals) ++refusals_;
  not_before_ =
      std::max({std::min(until, *sent_ + kLongestSpacing), *sent_ + spacing_, now + kPause});
  sent_.reset();
}

void Allowance::OnContended(Instant until, Instant now) {
  left_.assign(quotas_.size(), kNotSeen);
  not_before_ = std::max(not_before_, std::clamp(until, now + kPause, now + kLongestSpacing));
  sent_.reset();
}

void Allowance::OnFailed(Instant now) {
  sent_.reset();
  direct_until_ = now + spacing_;
}

Allowance::Departures Allowance::Wake(Instant now) {
  Departures departures;
  const bool is_unused = now - last_request_ >= quarter();
  const auto removed = std::ranges::remove_if(lots_, [&](const Lot& lot) {
    const bool is_over = !IsUsable(lot, now) || SumOf(lot.left) == 0;
    return (is_over || is_unused) && AddReturn(lot, is_over, now, departures);
  });
  lots_.erase(removed.begin(), removed.end());
  return departures;
}

Allowance::Departures Allowance::Drop(Instant now) {
  Departures departures;
  for (const Lot& lot : lots_) AddReturn(lot, true, now, departures);
  lots_.clear();
  return departures;
}

// The deadline of the return is a quarter of the lifetime from now. The refill from the debit to
// this deadline is subtracted, because the return may take effect as late as that.
bool Allowance::AddReturn(const Lot& lot, bool must_end, Instant now,
                          Departures& departures) const {
  Return back{.amounts = lot.left, .deadline = now + quarter(), .paid_by = lot.paid_by};
  const auto age = std::chrono::ceil<milliseconds>(back.deadline - lot.sent);
  bool is_worth_it = false;
  for (std::size_t i = 0; i < quotas_.size(); ++i) {
    std::int64_t& amount = back.amounts[i];
    amount = std::max<std::int64_t>(amount - RateTimes(quotas_[i], age), 0);
    is_worth_it = is_worth_it || amount >= kMillitokens;
  }
  if (!is_worth_it && !must_end) return false;
  departures.forfeited += SumOf(lot.left) - (is_worth_it ? SumOf(back.amounts) : 0);
  if (is_worth_it) departures.returns.push_back(std::move(back));
  return true;
}

Allowance::Millis Allowance::Held(Instant now) const {
  Millis held(quotas_.size());
  for (const Lot& lot : lots_) {
    if (!IsUsable(lot, now)) continue;
    for (std::size_t i = 0; i < held.size(); ++i) held[i] = SaturatingSum(held[i], lot.left[i]);
  }
  return held;
}

bool Allowance::idle(Instant now) const {
  return lots_.empty() && !sent_ && now - last_request_ >= 2 * lifetime_;
}

void Allowance::RollDemandWindow(Instant now) {
  const nanoseconds passed = now - window_began_;
  if (passed < window_) return;
  const bool is_adjacent = passed < 2 * window_;
  window_began_ = is_adjacent ? window_began_ + window_ : now;
  std::swap(wanted_before_, wanted_);
  std::ranges::fill(wanted_, 0);
  if (!is_adjacent) std::ranges::fill(wanted_before_, 0);
}

// The sliding window that ends now covers all of the current window and the last part of the window
// before, of which a proportional amount is counted.
std::int64_t Allowance::DemandFor(std::size_t limit, Instant now) const {
  const nanoseconds before = std::max(window_ - (now - window_began_), nanoseconds(0));
  const double part = static_cast<double>(before.count()) / static_cast<double>(window_.count());
  return SaturatingSum(
      wanted_[limit], static_cast<std::int64_t>(static_cast<double>(wanted_before_[limit]) * part));
}

}  // namespace weir
