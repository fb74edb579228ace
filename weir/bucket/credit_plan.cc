#include "weir/bucket/credit_plan.h"

#include <fmt/format.h>

namespace weir {

Result<CreditPlan> CreditPlan::For(const Quota& quota, int threads) {
  if (threads < 1) {
    return Fail(Code::kInvalidArgument,
                fmt::format("threads is {}, at least 1 is needed", threads));
  }
  WEIR_RETURN_IF_ERROR(Gcra::For(quota));
  std::int64_t block = quota.capacity / kMillitokens / (std::int64_t{4} * threads);
  if (block < kSmallestBlock) block = 0;
  Quota kernel = quota;
  kernel.capacity -= threads * block * kMillitokens;
  return CreditPlan{.kernel = Gcra::Require(kernel),
                    .threads = threads,
                    .block = block,
                    .credit_life_nanos = quota.period * 1'000'000};
}

CreditPlan CreditPlan::Require(const Quota& quota, int threads) {
  const Result<CreditPlan> plan = For(quota, threads);
  if (plan) return *plan;
  AbortForInvalidLimit(plan.error());
}

}  // namespace weir
