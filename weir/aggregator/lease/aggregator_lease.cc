#include "weir/aggregator/lease/aggregator_lease.h"

#include <algorithm>
#include <utility>

#include "weir/zae_table/keys.h"

namespace weir::dynamo {
namespace {

constexpr std::string_view kOwner = "owner";
constexpr std::string_view kRenewals = "renewals";
constexpr std::string_view kLifetime = "lasts_ms";
constexpr Instant kNoWake{INT64_MAX};
constexpr Instant kNotHeld{INT64_MIN};
// A watcher waits longer than the lease by a hundredth: its clock may run faster than the owner's.
constexpr int kDriftParts = 100;
// The longest duration that an item may state: a damaged item must not block the table for ever.
constexpr std::int64_t kLongestLeaseMillis = 3'600'000;

const Item& NoItem() {
  static const Item none;
  return none;
}

bool HasSame(const Item& a, const Item& b, std::string_view name) {
  const auto in_a = a.find(name);
  const auto in_b = b.find(name);
  if (in_a == a.end() || in_b == b.end()) return (in_a == a.end()) == (in_b == b.end());
  return in_a->second == in_b->second;
}

bool IsSameRenewal(const Item& a, const Item& b) {
  return HasSame(a, b, kOwner) && HasSame(a, b, kRenewals);
}

}  // namespace

TableKey LeaseKey() { return {"_/SYSTEM#", "#AGGREGATOR"}; }

AggregatorLease::AggregatorLease(LeaseOptions options, Log& log)
    : options_(std::move(options)), log_(log), may_take_over_(options_.takes_over) {}

AggregatorLease::Request AggregatorLease::Start(Instant /*now*/) { return ReadItem(); }

AggregatorLease::Request AggregatorLease::ReadItem() {
  sent_ = Sent::kRead;
  wake_ = kNoWake;
  return Read{};
}

AggregatorLease::Request AggregatorLease::OnRead(Result<std::optional<Item>> item, Instant now) {
  if (std::exchange(sent_, Sent::kNothing) != Sent::kRead || is_stopped_) return std::nullopt;
  if (item) return OnItem(*item, now);
  WakeAfter(options_.lifetime / 10, now);
  return std::nullopt;
}

AggregatorLease::Request AggregatorLease::OnItem(const std::optional<Item>& item, Instant now) {
  const Item& seen = item ? *item : NoItem();
  const std::string* owner = GetText(seen, kOwner);
  const bool is_free = owner == nullptr || *owner == options_.owner;
  other_owner_ = is_free ? "" : *owner;
  if (is_free || may_take_over_) return Claim(seen, now);
  return Watch(seen, *owner, now);
}

AggregatorLease::Request AggregatorLease::Watch(const Item& item, const std::string& owner,
                                                Instant now) {
  const bool is_known = watched_ && IsSameRenewal(watched_->item, item);
  if (is_known && now >= watched_->until) return Claim(item, now);
  if (!is_known) {
    other_is_alive_ = watched_.has_value();
    const milliseconds lifetime{std::clamp<std::int64_t>(
        GetNumber(item, kLifetime).value_or(options_.lifetime.count()), 1, kLongestLeaseMillis)};
    const LogField fields[] = {{"owner", std::string_view(owner)}};
    log_.Write(LogLevel::kInfo, "aggregator.lease_watched", fields);
    watched_ = Watched{item, now + lifetime + lifetime / kDriftParts + milliseconds(1)};
  }
  wake_ = watched_->until;
  return std::nullopt;
}

Write AggregatorLease::OwnWrite() const {
  Write write{.kind = Write::Kind::kUpdate, .key = LeaseKey(), .item = {}, .expression = {}};
  write.expression.Set(kOwner, Of(options_.owner)).Set(kLifetime, Of(options_.lifetime.count()));
  write.expression.Add(kRenewals, 1);
  return write;
}

AggregatorLease::Request AggregatorLease::Claim(const Item& seen, Instant now) {
  Write write = OwnWrite();
  for (const std::string_view name : {kOwner, kRenewals}) {
    const auto found = seen.find(name);
    write.expression.RequireSame(name,
                                 found == seen.end() ? std::nullopt : std::optional(found->second));
  }
  return Send(Sent::kClaim, std::move(write), now);
}

AggregatorLease::Request AggregatorLease::Renew(Instant now) {
  Write write = OwnWrite();
  write.expression.RequireEqual(kOwner, Of(options_.owner));
  return Send(Sent::kRenewal, std::move(write), now);
}

AggregatorLease::Request AggregatorLease::Send(Sent kind, Write write, Instant now) {
  sent_ = kind;
  sent_at_ = now;
  wake_ = kNoWake;
  return write;
}

AggregatorLease::Request AggregatorLease::OnWrite(tl::expected<WriteResponse, WriteFailure> outcome,
                                                  Instant now) {
  const Sent kind = std::exchange(sent_, Sent::kNothing);
  if ((kind != Sent::kClaim && kind != Sent::kRenewal) || is_stopped_) return std::nullopt;
  if (outcome) {
    Hold(now);
    return std::nullopt;
  }
  if (outcome.error().kind == FailureClass::kConditional) {
    const std::optional<Item>& item = outcome.error().old_item;
    const std::string* owner = item ? GetText(*item, kOwner) : nullptr;
    if (kind == Sent::kRenewal) Lose(owner == nullptr ? "" : *owner);
    return OnItem(item, now);
  }
  // The write may have been applied or not. On waking, a holder repeats its renewal while its lease
  // is valid; after a claim, the item is read, which shows whether the claim was applied.
  WakeAfter(options_.lifetime / 10, now);
  return std::nullopt;
}

// The owner counts the time from when it sent the write, not from the response: a watcher counts
// from when it reads the item, and that may be just after the write was applied, long before the
// owner gets the response.
void AggregatorLease::Hold(Instant now) {
  const bool is_new = held_until_ == kNotHeld;
  held_until_ = sent_at_ + options_.lifetime;
  watched_.reset();
  other_owner_.clear();
  other_is_alive_ = false;
  may_take_over_ = false;
  WakeAfter(std::max<nanoseconds>(options_.lifetime / 3 - (now - sent_at_), nanoseconds(1)), now);
  if (!is_new) return;
  const LogField fields[] = {{"owner", std::string_view(options_.owner)}};
  log_.Write(LogLevel::kInfo, "aggregator.lease_acquired", fields);
}

void AggregatorLease::Lose(std::string_view by) {
  if (std::exchange(held_until_, kNotHeld) == kNotHeld) return;
  const LogField fields[] = {{"owner", std::string_view(options_.owner)}, {"by", by}};
  log_.Write(LogLevel::kWarning, "aggregator.lease_lost", fields);
}

AggregatorLease::Request AggregatorLease::OnTime(Instant now) {
  if (sent_ != Sent::kNothing || now < wake_ || is_stopped_) return std::nullopt;
  if (IsHeldAt(now)) return Renew(now);
  if (held_until_ != kNotHeld) Lose("");
  return ReadItem();
}

void AggregatorLease::Stop() {
  is_stopped_ = true;
  held_until_ = kNotHeld;
  wake_ = kNoWake;
}

}  // namespace weir::dynamo
