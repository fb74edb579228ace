#include "weir/kinesis/connection.h"

#include <optional>
#include <random>
#include <utility>

#include "weir/aws/credentials_cache.h"
#include "weir/aws/crt_credentials.h"
#include "weir/aws/crt_runtime.h"
#include "weir/aws/crt_signer.h"
#include "weir/aws/crt_transport.h"
#include "weir/aws/retrying_client.h"
#include "weir/kinesis/wire.h"
#include "weir/runtime/loop.h"

namespace weir::kinesis {
namespace {

constexpr char kService[] = "kinesis";

std::optional<std::string> Given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

JsonClientOptions ClientOptions(const ConnectionOptions& options, const Endpoint& endpoint) {
  return {.target_prefix = std::string(kTargetPrefix),
          .content_type = options.content_type,
          .host = HostHeader(endpoint),
          .path = endpoint.path,
          .attempt_timeout = options.request_timeout,
          .retry = {.max_attempts = options.max_attempts},
          .seed = Connection::Seed()};
}

TransportOptions NetworkOptions(const ConnectionOptions& options, const Endpoint& endpoint) {
  return {.host = endpoint.host,
          .port = endpoint.port,
          .tls = endpoint.tls,
          .max_connections = options.max_connections,
          .connect_timeout = options.connect_timeout};
}

}  // namespace

// In the order in which each needs those before it.
struct Connection::Parts {
  explicit Parts(const Clock& clock) : loop(clock) {}

  std::unique_ptr<CrtRuntime> runtime;
  std::unique_ptr<HttpTransport> transport;
  std::unique_ptr<Signer> signer;
  Loop loop;
  std::unique_ptr<CredentialsProvider> credentials;
  std::unique_ptr<JsonClient> client;
};

Connection::Connection(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::Open(const ConnectionOptions& options,
                                                     const Clock& clock,
                                                     const Surroundings& surroundings) {
  WEIR_ASSIGN_OR_RETURN(const ServiceLocation location,
                        LocateService({.service = kService,
                                       .region = Given(options.region),
                                       .endpoint_url = Given(options.endpoint_url),
                                       .profile = {}},
                                      surroundings));
  const Endpoint& endpoint = location.endpoint;
  auto parts = std::make_unique<Parts>(clock);
  WEIR_ASSIGN_OR_RETURN(
      parts->runtime,
      CrtRuntime::Start({.ca_file = {}, .verify_certificate = options.verify_certificate}));
  WEIR_ASSIGN_OR_RETURN(parts->transport,
                        MakeTransport(*parts->runtime, clock, NetworkOptions(options, endpoint)));
  parts->signer = MakeSigner(*parts->runtime, {location.region, kService});
  parts->credentials =
      MakeCachedCredentials(MakeCrtCredentials(*parts->runtime, clock, {}), parts->loop, Seed());
  parts->client =
      MakeJsonClient({*parts->transport, *parts->signer, *parts->credentials, parts->loop},
                     ClientOptions(options, endpoint));
  return std::unique_ptr<Connection>(new Connection(std::move(parts)));
}

JsonClient& Connection::client() { return *parts_->client; }
Scheduler& Connection::scheduler() { return parts_->loop; }

std::uint64_t Connection::Seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace weir::kinesis
