#include "weir/rate_limiter_py/slots/release_resource_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/codec/iso_time.h"
#include "weir/model/quoted.h"

namespace weir::rate_limiter_py {
namespace {

using dynamo::Of;
using dynamo::Write;

constexpr std::size_t kPage = 100;  // each slot of a page is read and released separately

std::optional<dynamo::Value> ValueIn(const dynamo::Item& item, std::string_view name) {
  const auto at = item.find(name);
  return at == item.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace

ReleaseResourceCall::ReleaseResourceCall(EndedResource ended, std::string index, UnixMillis now)
    : ended_(std::move(ended)), now_(now) {
  query_.index = std::move(index);
  query_.partition = ended_.resource_id;
  query_.attributes = {std::string(kCoordinate), std::string(kReservationId)};
  query_.limit = kPage;
}

// The tombstone is written first: if that fails, no slot has been released without being counted in
// the result.
ReleaseResourceCall::Step ReleaseResourceCall::Begin() {
  return ended_.remember_until <= now_ ? Step(query_) : RememberEnd(std::nullopt);
}

ReleaseResourceCall::Step ReleaseResourceCall::OnQuery(dynamo::QueryResponse page) {
  for (const dynamo::Item& item : page.items) {
    pending_keys_.push_back(
        KeyOf(item, {std::string(kCoordinate), std::string(kReservationId), ""}));
  }
  query_.start_after = std::move(page.last_key);
  return ReleaseNext();
}

// An index is eventually consistent and may not have all attributes, so each row is read again.
ReleaseResourceCall::Step ReleaseResourceCall::ReleaseNext() {
  if (!pending_keys_.empty()) {
    const ReleaseFence fence{ended_.resource_id, ended_.ended_at, ended_.spares_undated};
    release_.emplace(ReleaseTarget{.place = std::move(pending_keys_.back()), .fence = fence}, now_);
    pending_keys_.pop_back();
    return OnReleaseStep(release_->Begin());
  }
  if (query_.start_after) return query_;
  return released_;
}

ReleaseResourceCall::Step ReleaseResourceCall::OnReleaseStep(ReleaseCall::Step step) {
  return ForwardStep<Step>(std::move(step), [this](Result<bool> released) -> Step {
    if (!released) return Fail(std::move(released.error()));
    if (*released) ++released_;
    return ReleaseNext();
  });
}

// If an unexpired tombstone exists, the later end and the later expiry are stored, so that no call
// undoes another.
ReleaseResourceCall::Step ReleaseResourceCall::RememberEnd(
    const std::optional<dynamo::Item>& existing) {
  std::int64_t ended_at = ended_.ended_at.value;
  std::int64_t until = dynamo::WholeSeconds(ended_.remember_until) + 1;
  Write tombstone{.key = EndedKey(ended_.resource_id), .item = {}, .expression = {}};
  dynamo::Expression& e = tombstone.expression;
  if (existing) {
    const auto ended_before = GetNumber(*existing, kEndedAt);
    const auto until_before = GetNumber(*existing, kExpirationTime);
    if (until_before.value_or(0) > dynamo::WholeSeconds(now_)) {
      ended_at = std::max(ended_at, ended_before.value_or(0));
      until = std::max(until, *until_before);
    }
    if (ended_at == ended_before && until == until_before) return query_;
    e.RequireSame(kEndedAt, ValueIn(*existing, kEndedAt));
    e.RequireSame(kExpirationTime, ValueIn(*existing, kExpirationTime));
  } else {
    e.RequireAbsent(kReservationId);
  }
  e.Set(kEndedAt, Of(ended_at)).Set(kExpirationTime, Of(until));
  return AnyTime({std::move(tombstone)});
}

ReleaseResourceCall::Step ReleaseResourceCall::OnWrite(const WriteOutcome& outcome,
                                                       UnixMillis now) {
  if (release_) return OnReleaseStep(release_->OnWrite(outcome, now));
  if (outcome) return query_;
  if (!IsRefusedBy(outcome.error(), 0)) return Fail(outcome.error().error);
  if (++rounds_ <= kMaxRounds) return RememberEnd(outcome.error().reasons[0].item);
  return Fail(Code::kUnavailable,
              fmt::format("{}: its end is being reported concurrently; try again",
                          Quoted(ended_.resource_id)));
}

}  // namespace weir::rate_limiter_py
