// The cost of a signature of a request to DynamoDB, by the runtime's signer and by ours.
#include <benchmark/benchmark.h>

#include "weir/aws/signing/key_caching_signer.h"
#include "weir/aws/signing/sigv4_signer.h"

namespace {

using namespace weir;

void Sign(benchmark::State& state, Signer& signer) {
  const Credentials credentials{.access_key_id = "AKIDEXAMPLE",
                                .secret_access_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                                .session_token = std::string(400, 't'),
                                .expires = std::nullopt};
  const HttpRequest request{.headers = {{"host", "dynamodb.eu-west-1.amazonaws.com"},
                                        {"content-type", "application/x-amz-json-1.0"},
                                        {"x-amz-target", "DynamoDB_20120810.UpdateItem"}},
                            .body = std::string(350, 'b')};
  UnixMillis now{1'440'938'160'000};
  for (auto _ : state) {
    HttpRequest copy = request;
    if (!signer.Sign(copy, credentials, now)) return state.SkipWithError("not signed");
    benchmark::DoNotOptimize(copy.headers.data());
    now = now + milliseconds(1);
  }
}

const SigningScope kScope{.region = "eu-west-1", .service = "dynamodb"};

void sign_by_the_runtime(benchmark::State& state) {
  const auto runtime = *CrtRuntime::Start({});
  Sign(state, *MakeSigner(*runtime, kScope));
}
BENCHMARK(sign_by_the_runtime);

void sign_with_a_kept_key(benchmark::State& state) {
  const auto runtime = *CrtRuntime::Start({});
  Sign(state, *MakeKeyCachingSigner(kScope, MakeSigner(*runtime, kScope)));
  state.SetLabel("vs sign_by_the_runtime");
}
BENCHMARK(sign_with_a_kept_key);

}  // namespace
