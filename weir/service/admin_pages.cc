#include "weir/service/admin_pages.h"

#include <string_view>
#include <utility>

namespace weir::service {
namespace {

transport::AdminResponse Metrics(AdminState& state, std::string_view authorization) {
  const Status allowed = state.Check(authorization);
  if (!allowed) {
    const bool is_known = allowed.error().code == Code::kPermissionDenied;
    return {.status = is_known ? 403 : 401, .body = allowed.error().message + "\n"};
  }
  const Registry* const registry = state.registry;
  return {.content_type = "text/plain; version=0.0.4",
          .body = registry == nullptr ? "" : registry->Text()};
}

}  // namespace

void AdminState::SetTokens(AccessTokensPtr tokens) {
  const MutexLock lock(mutex_);
  tokens_ = std::move(tokens);
}

Status AdminState::Check(std::string_view authorization) {
  AccessTokensPtr tokens;
  {
    const MutexLock lock(mutex_);
    tokens = tokens_;
  }
  if (tokens == nullptr) return {};
  Status allowed = tokens->Check(authorization, AccessScope::kAdmin, clock_.WallNow());
  if (!allowed) {
    counts_.pages_denied.Add();
    log_.PageDenied("/metrics: " + allowed.error().message, clock_.Now());
  }
  return allowed;
}

transport::AdminHandler AdminPages(AdminState& state) {
  return [&state](const transport::AdminRequest& request) -> transport::AdminResponse {
    const std::string_view path = request.target.substr(0, request.target.find('?'));
    if (path == "/healthz") return {.body = "ok\n"};
    if (path == "/readyz") {
      return state.is_serving ? transport::AdminResponse{.body = "ready\n"}
                              : transport::AdminResponse{.status = 503, .body = "not ready\n"};
    }
    if (path == "/metrics") return Metrics(state, request.authorization);
    return {.status = 404, .body = "the pages are /metrics, /healthz and /readyz\n"};
  };
}

}  // namespace weir::service
