#include "weir/limiter/fail_open.h"

namespace weir {

bool IsUnavailable(Code code) {
  return code == Code::kUnavailable || code == Code::kDeadlineExceeded;
}

OnUnavailable FailOpen::PolicyOf(const PendingAcquire& call) const {
  const std::optional<OnUnavailable> read = call.own_policy ? call.own_policy : call.policy;
  return read.value_or(resolver_.last_on_unavailable().value_or(by_default_));
}

bool FailOpen::Admits(const PendingAcquire& call, const Error& error, std::string_view entity,
                      std::string_view resource) {
  if (!IsUnavailable(error.code)) return false;
  // Otherwise each request whose wait ends during its last try would be admitted without a charge.
  if (call.is_cut_short && error.code == Code::kDeadlineExceeded) return false;
  store_errors_.Add();
  if (PolicyOf(call) == OnUnavailable::kBlock) return false;
  unprotected_.Add();
  log_.LogAdmission(entity, resource, error);
  return true;
}

}  // namespace weir
