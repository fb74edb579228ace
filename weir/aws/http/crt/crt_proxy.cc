#include "weir/aws/http/crt/crt_proxy.h"

#include <arpa/inet.h>
#include <aws/http/connection_manager.h>

#include <cstdlib>
#include <string>

namespace weir::internal {
namespace {

bool IsLoopback(const std::string& host) {
  in_addr address;  // only an address is in 127.0.0.0/8: a name may begin with "127." too
  const bool is_ipv4 = inet_aton(host.c_str(), &address) != 0;
  return host == "localhost" || host == "::1" ||
         (is_ipv4 && ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET);
}

// TLS needs a tunnel through the proxy; other requests are sent to the proxy itself.
aws_http_proxy_connection_type TypeFor(bool tls) {
  return tls ? AWS_HPCT_HTTP_TUNNEL : AWS_HPCT_HTTP_FORWARD;
}

// HTTPS_PROXY is for TLS endpoints, and no proxy reaches a service on this machine.
bool FollowsVariables(const TransportOptions& options) {
  return options.tls && !IsLoopback(options.host);
}

bool IsSet(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

bool MayUseProxy(const TransportOptions& options) {
  if (options.proxy) return true;
  return FollowsVariables(options) && (IsSet("HTTPS_PROXY") || IsSet("https_proxy"));
}

CrtProxy::CrtProxy(const TransportOptions& options) : is_explicit_(options.proxy.has_value()) {
  variables_.env_var_type = FollowsVariables(options) ? AWS_HPEV_ENABLE : AWS_HPEV_DISABLE;
  if (!is_explicit_) return;
  const HttpProxy& proxy = *options.proxy;
  options_.connection_type = TypeFor(options.tls);
  options_.host = Cursor(proxy.host);
  options_.port = proxy.port;
  if (proxy.user.empty()) return;
  aws_http_proxy_strategy_basic_auth_options login{.proxy_connection_type = TypeFor(options.tls),
                                                   .user_name = Cursor(proxy.user),
                                                   .password = Cursor(proxy.password)};
  authentication_.reset(aws_http_proxy_strategy_new_basic_auth(aws_default_allocator(), &login));
  options_.proxy_strategy = authentication_.get();
}

void CrtProxy::Apply(aws_http_connection_manager_options& manager) const {
  if (is_explicit_) {
    manager.proxy_options = &options_;
  } else {
    manager.proxy_ev_settings = &variables_;
  }
}

}  // namespace weir::internal
