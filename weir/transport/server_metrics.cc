#include "weir/transport/server_metrics.h"

#include <array>
#include <cstdint>
#include <utility>

namespace weir::transport {
namespace {

constexpr const char kRefused[] = "weir_transport_refused_total";
constexpr const char kRefusedHelp[] =
    "Connections that were closed at once: total or peer (a bound), draining, system.";
constexpr const char kHandshakes[] = "weir_transport_handshakes_failed_total";
constexpr const char kHandshakesHelp[] =
    "TLS handshakes that failed: tls (OpenSSL refused), late, alpn (the protocol is missing).";
constexpr const char kCut[] = "weir_transport_cut_total";
constexpr const char kCutHelp[] =
    "Connections that did not end in order: slow (took no bytes), broken (by the peer or the "
    "network), drain (open at its end).";
constexpr const char kBytes[] = "weir_transport_bytes_total";
constexpr const char kBytesHelp[] = "Bytes of the protocol, without those that TLS adds.";

struct CounterRow {
  const char* name;
  const char* help;
  const char* label;  ///< null: none
  const char* value;
  Counter ServerCounters::* counter;
};

constexpr std::array kCounterRows = {
    CounterRow{"weir_transport_accepted_total", "Connections that were accepted.", nullptr, nullptr,
               &ServerCounters::accepted},
    CounterRow{kRefused, kRefusedHelp, "cause", "total", &ServerCounters::refused_total},
    CounterRow{kRefused, kRefusedHelp, "cause", "peer", &ServerCounters::refused_peer},
    CounterRow{kRefused, kRefusedHelp, "cause", "draining", &ServerCounters::refused_draining},
    CounterRow{kRefused, kRefusedHelp, "cause", "system", &ServerCounters::refused_system},
    CounterRow{kHandshakes, kHandshakesHelp, "cause", "tls", &ServerCounters::handshakes_failed},
    CounterRow{kHandshakes, kHandshakesHelp, "cause", "late", &ServerCounters::handshakes_late},
    CounterRow{kHandshakes, kHandshakesHelp, "cause", "alpn", &ServerCounters::handshakes_alpn},
    CounterRow{kCut, kCutHelp, "cause", "slow", &ServerCounters::cut_slow},
    CounterRow{kCut, kCutHelp, "cause", "broken", &ServerCounters::cut_broken},
    CounterRow{kCut, kCutHelp, "cause", "drain", &ServerCounters::cut_drained},
    CounterRow{"weir_transport_accept_errors_total", "Calls of accept that failed.", nullptr,
               nullptr, &ServerCounters::accept_errors},
    CounterRow{"weir_transport_tls_reload_errors_total",
               "Reloads of TLS files that failed; the previous files remain in use.", nullptr,
               nullptr, &ServerCounters::reload_errors},
    CounterRow{kBytes, kBytesHelp, "direction", "received", &ServerCounters::bytes_received},
    CounterRow{kBytes, kBytesHelp, "direction", "sent", &ServerCounters::bytes_sent},
};

}  // namespace

Status RegisterMetrics(Registry& registry, const Server& server, const std::string& listener) {
  const Labels common = {{"listener", listener}};
  for (const CounterRow& row : kCounterRows) {
    MetricName name{.name = row.name, .help = row.help, .labels = common};
    if (row.label != nullptr) name.labels.emplace_back(row.label, row.value);
    WEIR_RETURN_IF_ERROR(registry.Add(std::move(name), server.counters().*row.counter));
  }
  return registry.AddGauge({.name = "weir_transport_connections",
                            .help = "Connections that are open, TLS handshakes included.",
                            .labels = common},
                           [&server] { return static_cast<double>(server.connections()); });
}

}  // namespace weir::transport
