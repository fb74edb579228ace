// The HTTP proxy that a transport's connections use.
#pragma once

#include <aws/http/proxy.h>

#include "weir/aws/http/crt/crt_handle.h"
#include "weir/aws/http/crt_transport.h"

struct aws_http_connection_manager_options;

namespace weir::internal {

/// Returns whether a proxy was given, or the environment names one that may apply to this endpoint.
bool MayUseProxy(const TransportOptions& options);

/// The proxy settings of a connection manager. Refers to the options, which must outlive this
/// object. This object must outlive the call that creates the manager; that call copies the
/// settings.
class CrtProxy {
 public:
  explicit CrtProxy(const TransportOptions& options);
  CrtProxy(const CrtProxy&) = delete;
  CrtProxy& operator=(const CrtProxy&) = delete;

  void Apply(aws_http_connection_manager_options& manager) const;

 private:
  bool is_explicit_ = false;
  CrtHandle<aws_http_proxy_strategy, aws_http_proxy_strategy_release> authentication_;
  aws_http_proxy_options options_{};
  proxy_env_var_settings variables_{};
};

}  // namespace weir::internal
