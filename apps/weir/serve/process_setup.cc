#include "apps/weir/serve/process_setup.h"

#include <google/protobuf/stubs/logging.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <limits>

#include "apps/weir/terminal/signal_pipe.h"
#include "weir/aws/http/crt_transport.h"

namespace weir::app {
namespace {

constexpr std::size_t kOtherDescriptors = 64;
// Boost.Asio has an epoll, a timer and an eventfd for each io_context.
constexpr std::size_t kDescriptorsOfLoop = 3;
// A socket, and an eventfd once a thread has blocked for its response.
constexpr std::size_t kDescriptorsOfStoreConnection = 2;

// If the system refuses, the bound remains as it is, and DescriptorLimit reports it.
void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

Status PrepareServiceProcess() {
  std::signal(SIGPIPE, SIG_IGN);
  // The library writes a line for each malformed message, without a bound.
  google::protobuf::SetLogHandler(nullptr);
  RaiseDescriptorLimit();
  return CatchSignals(std::array{SIGHUP});
}

std::size_t DescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::numeric_limits<std::size_t>::max();
  }
  return limit.rlim_cur;
}

std::size_t BoundConnections(std::size_t configured, std::size_t descriptors,
                             const ServiceParts& parts) {
  const std::size_t store = kDescriptorsOfStoreConnection * TransportOptions().max_connections;
  const std::size_t reserve = kOtherDescriptors + store + kDescriptorsOfLoop * parts.threads +
                              parts.listeners + parts.admin_connections;
  const std::size_t max = descriptors > reserve ? descriptors - reserve : 1;
  return configured == 0 ? max : std::min(configured, max);
}

}  // namespace weir::app
