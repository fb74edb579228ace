#include "weir/service/admin_pages.h"

#include <string_view>

namespace weir::service {

transport::AdminHandler AdminPages(const std::atomic<bool>& is_serving,
                                   const std::atomic<const Registry*>& registry) {
  return [&](std::string_view, std::string_view target) -> transport::AdminResponse {
    const std::string_view path = target.substr(0, target.find('?'));
    if (path == "/healthz") return {.body = "ok\n"};
    if (path == "/readyz") {
      return is_serving ? transport::AdminResponse{.body = "ready\n"}
                        : transport::AdminResponse{.status = 503, .body = "not ready\n"};
    }
    if (path == "/metrics") {
      const Registry* const metrics = registry;
      return {.content_type = "text/plain; version=0.0.4",
              .body = metrics == nullptr ? "" : metrics->Text()};
    }
    return {.status = 404, .body = "the pages are /metrics, /healthz and /readyz\n"};
  };
}

}  // namespace weir::service
