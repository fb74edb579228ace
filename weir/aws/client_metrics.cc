#include "weir/aws/client_metrics.h"

#include <array>
#include <cstdint>
#include <string>

namespace weir {
namespace {

struct Row {
  const char* name;
  const char* help;
  std::uint64_t JsonClientStats::* number;
};

constexpr std::array kRows = {
    Row{"weir_aws_calls_total", "Calls on the service, each with all its attempts.",
        &JsonClientStats::calls},
    Row{"weir_aws_requests_total",
        "Requests that were sent, or given up while they waited for a connection.",
        &JsonClientStats::attempts},
    Row{"weir_aws_retries_total", "Requests that were not the first of their call.",
        &JsonClientStats::retries},
    Row{"weir_aws_throttled_total", "Responses that asked to slow down.",
        &JsonClientStats::throttles},
    Row{"weir_aws_retries_refused_total", "Retries that the retry quota did not allow.",
        &JsonClientStats::quota_refused},
};

}  // namespace

Status RegisterMetrics(Registry& registry, const JsonClient& client, std::string_view service) {
  const Labels labels = {{"service", std::string(service)}};
  for (const Row& row : kRows) {
    WEIR_RETURN_IF_ERROR(
        registry.AddCounter({.name = row.name, .help = row.help, .labels = labels},
                            [&client, number = row.number] { return client.stats().*number; }));
  }
  return registry.AddHistograms(
      {.name = "weir_aws_request_seconds",
       .help = "Time from passing a request to the transport until its response or failure.",
       .labels = {"service"}},
      kNanosAsSeconds, [&client, service = std::string(service)] {
        return std::vector<Labelled<HistogramSnapshot>>{
            {.labels = {service}, .value = client.RequestTime()}};
      });
}

}  // namespace weir
