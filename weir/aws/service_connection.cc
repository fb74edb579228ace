#include "weir/aws/service_connection.h"

#include <utility>

#include "weir/aws/credentials/caching_provider.h"
#include "weir/aws/credentials/crt_credentials.h"
#include "weir/aws/signing/key_caching_signer.h"
#include "weir/aws/signing/sigv4_signer.h"
#include "weir/base/rng.h"
#include "weir/runtime/loop.h"

namespace weir {
namespace {

void SetAuthorities(const HostEnvironment& environment, CrtOptions& runtime) {
  if (!runtime.ca_file.empty() || !runtime.ca_folder.empty()) return;
  runtime.ca_file = environment.environment("AWS_CA_BUNDLE").value_or("");
}

}  // namespace

// Each member needs those above it.
struct ServiceConnection::Parts {
  explicit Parts(const Clock& clock) : loop(clock) {}

  std::unique_ptr<CrtRuntime> runtime;
  std::unique_ptr<HttpTransport> transport;
  std::unique_ptr<Signer> signer;
  Loop loop;
  std::unique_ptr<CredentialsProvider> credentials;
  std::unique_ptr<JsonClient> client;
};

ServiceConnection::ServiceConnection(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ServiceConnection::~ServiceConnection() = default;

Result<std::unique_ptr<ServiceConnection>> ServiceConnection::Open(
    ServiceConnectionOptions options, const Clock& clock, const HostEnvironment& environment) {
  WEIR_ASSIGN_OR_RETURN(const ServiceLocation location,
                        LocateService(options.service, environment));
  const Endpoint& endpoint = location.endpoint;
  options.transport.host = endpoint.host;
  options.transport.port = endpoint.port;
  options.transport.tls = endpoint.tls;
  options.client.host = HostHeader(endpoint);
  options.client.path = endpoint.path;
  options.client.seed = SystemSeed();
  Log& log = options.log == nullptr ? NoLog() : *options.log;
  options.client.log = &log;
  auto parts = std::make_unique<Parts>(clock);
  SetAuthorities(environment, options.runtime);
  WEIR_ASSIGN_OR_RETURN(parts->runtime, CrtRuntime::Start(options.runtime));
  WEIR_ASSIGN_OR_RETURN(parts->transport, MakeTransport(*parts->runtime, clock, options.transport));
  const SigningScope scope{location.region, std::string(SigningName(options.service.service))};
  parts->signer = MakeKeyCachingSigner(scope, MakeSigner(*parts->runtime, scope));
  parts->credentials = MakeCachedCredentials(MakeCrtCredentials(*parts->runtime, clock, {}),
                                             parts->loop, SystemSeed(), log);
  parts->client =
      MakeJsonClient({*parts->transport, *parts->signer, *parts->credentials, parts->loop},
                     std::move(options.client));
  return std::unique_ptr<ServiceConnection>(new ServiceConnection(std::move(parts)));
}

JsonClient& ServiceConnection::client() { return *parts_->client; }
Scheduler& ServiceConnection::scheduler() { return parts_->loop; }

std::optional<std::string> EmptyToNull(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace weir
