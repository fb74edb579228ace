// The backend of an EmbeddedClient as a BackendHarness. For tests only.
#pragma once

#include "weir/embedded/testing/embedded_fixture.h"
#include "weir/store/testing/contract_client.h"

namespace weir {

/// Runs in simulated time. The client must outlive it.
class ClientHarness final : public BackendHarness {
 public:
  explicit ClientHarness(EmbeddedClient& client) : client_(client) {}
  Backend& backend() override { return client_.backend(); }
  bool Pump() override { return client_.scheduler().RunNext(); }

 private:
  EmbeddedClient& client_;
};

}  // namespace weir
