#include "weir/dynamo/connection.h"

#include <random>
#include <utility>

#include "weir/aws/credentials_cache.h"
#include "weir/aws/crt_credentials.h"
#include "weir/aws/crt_runtime.h"
#include "weir/aws/crt_signer.h"
#include "weir/aws/crt_transport.h"
#include "weir/aws/retrying_client.h"
#include "weir/runtime/loop.h"

namespace weir::dynamo {
namespace {

std::uint64_t RandomBits64() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

std::optional<std::string> Given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace

// In the order in which each needs those before it.
struct Connection::Parts {
  Parts(DynamoUrl from, const Clock& clock) : url(std::move(from)), loop(clock) {}

  const DynamoUrl url;
  std::unique_ptr<CrtRuntime> runtime;
  std::unique_ptr<HttpTransport> transport;
  std::unique_ptr<Signer> signer;
  Loop loop;
  std::unique_ptr<CredentialsProvider> credentials;
  std::unique_ptr<JsonClient> client;
  std::optional<Table> table;
};

Connection::Connection(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::Open(const DynamoUrl& url, const Clock& clock,
                                                     const Surroundings& surroundings) {
  WEIR_ASSIGN_OR_RETURN(const ServiceLocation location,
                        LocateService({.service = "dynamodb",
                                       .region = Given(url.region),
                                       .endpoint_url = Given(url.endpoint),
                                       .profile = {}},
                                      surroundings));
  auto parts = std::make_unique<Parts>(url, clock);
  const Endpoint& endpoint = location.endpoint;
  WEIR_ASSIGN_OR_RETURN(parts->runtime, CrtRuntime::Start({}));
  WEIR_ASSIGN_OR_RETURN(
      parts->transport,
      MakeTransport(*parts->runtime, clock,
                    {.host = endpoint.host, .port = endpoint.port, .tls = endpoint.tls}));
  parts->signer = MakeSigner(*parts->runtime, {location.region, "dynamodb"});
  parts->credentials = MakeCachedCredentials(MakeCrtCredentials(*parts->runtime, clock, {}),
                                             parts->loop, RandomBits64());
  parts->client =
      MakeJsonClient({*parts->transport, *parts->signer, *parts->credentials, parts->loop},
                     {.target_prefix = "DynamoDB_20120810",
                      .host = HostHeader(endpoint),
                      .path = endpoint.path,
                      .seed = RandomBits64()});
  parts->table.emplace(*parts->client, parts->loop, url.table, RandomBits64());
  return std::unique_ptr<Connection>(new Connection(std::move(parts)));
}

JsonClient& Connection::client() { return *parts_->client; }
Table& Connection::table() { return *parts_->table; }
Scheduler& Connection::scheduler() { return parts_->loop; }
const DynamoUrl& Connection::url() const { return parts_->url; }
RandomBits Connection::Random() { return RandomBits64; }

}  // namespace weir::dynamo
