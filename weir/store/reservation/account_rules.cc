#include "weir/store/reservation/account_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/base/bucket_time.h"

namespace weir {
namespace {

Status NotAsSeen(const AccountKey& key) {
  return Fail(Code::kAborted, fmt::format("the limit of {} was changed since it was read; read it "
                                          "again",
                                          Describe(key)));
}

Status Put(ReservationRows& rows, const PutAccountLimit& put) {
  WEIR_ASSIGN_OR_RETURN(const auto found, rows.FindLimit(put.row.key));
  if (found == put.row) return {};
  if (found != put.seen) return NotAsSeen(put.row.key);
  return rows.PutLimit(put.row);
}

Status Delete(ReservationRows& rows, const DeleteAccountLimit& change) {
  WEIR_ASSIGN_OR_RETURN(const auto found, rows.FindLimit(change.seen.key));
  if (!found) return {};
  if (found != change.seen) return NotAsSeen(change.seen.key);
  return rows.EraseLimit(change.seen.key);
}

// Rounds down, also for negative amounts.
std::int64_t WholeTokens(std::int64_t millitokens) {
  const std::int64_t whole = millitokens / kMillitokens;
  return millitokens % kMillitokens < 0 ? whole - 1 : whole;
}

TokenResult TakeFrom(Meter& meter, std::int64_t amount) {
  const milliseconds wait = RetryAfter(meter, amount);
  const bool taken = wait == milliseconds(0);
  if (taken) Debit(meter, amount);
  return {.taken = taken, .available = WholeTokens(meter.tokens), .retry_after = wait};
}

}  // namespace

Status ChangeLimit(ReservationRows& rows, const AccountLimitChange& change) {
  if (const auto* put = std::get_if<PutAccountLimit>(&change)) return Put(rows, *put);
  return Delete(rows, std::get<DeleteAccountLimit>(change));
}

Result<TokenResult> TakeTokens(ReservationRows& rows, const AccountTake& wanted, UnixMillis now) {
  const Quota quota = PerPeriod(wanted.limit.limit, wanted.limit.window);
  WEIR_ASSIGN_OR_RETURN(auto found, rows.FindBucket(wanted.key));
  Bucket bucket = found.value_or(Bucket{.time = now, .meters = {FullMeter(quota)}});
  // A time that is far ahead was written under a wrong clock.
  const bool is_set_back = IsFarAhead(bucket.time, now);
  if (is_set_back) bucket.time = now;
  // A caller whose clock is behind waits until the bucket's time first; only then do tokens come
  // back.
  const milliseconds behind = std::max(bucket.time - now, milliseconds(0));
  Refill(bucket, now);
  Meter& meter = bucket.meters.front();
  const bool is_new_limit = meter.quota != quota;
  if (is_new_limit) ChangeQuota(meter, quota);
  TokenResult result = TakeFrom(meter, wanted.count * kMillitokens);
  if (!result.taken) result.retry_after += behind;
  // A refusal writes the bucket only if the returned wait depends on the change: a new limit, whose
  // rate counts from now on, or a time that was set back.
  if (!result.taken && !is_new_limit && !is_set_back) return result;
  WEIR_RETURN_IF_ERROR(rows.PutBucket(wanted.key, bucket));
  WEIR_RETURN_IF_ERROR(rows.Sweep(now));
  return result;
}

}  // namespace weir
