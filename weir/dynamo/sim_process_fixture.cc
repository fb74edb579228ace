#include "weir/dynamo/sim_process_fixture.h"

namespace weir::dynamo {
namespace {

class NoSigner final : public Signer {
 public:
  Status Sign(HttpRequest&, const Credentials&, UnixMillis) override { return {}; }
};

class Anybody final : public CredentialsProvider {
 public:
  void Get(Deadline, Done<Credentials> done) override {
    done(Credentials{.access_key_id = "test", .secret_access_key = "test"});
  }
};

}  // namespace

SimProcess::SimProcess(sim::SimScheduler& scheduler, sim::SimServer& server, std::uint64_t seed,
                       milliseconds skew)
    : scheduler_(scheduler),
      skew_(skew),
      transport_(scheduler, server, seed),
      signer_(std::make_unique<NoSigner>()),
      credentials_(std::make_unique<Anybody>()),
      client_(MakeJsonClient({transport_, *signer_, *credentials_, scheduler},
                             {.target_prefix = "DynamoDB_20120810",
                              .host = "dynamodb.test",
                              .retry = {.max_attempts = 1},
                              .seed = seed + 1})) {}

}  // namespace weir::dynamo
