// What an EmbeddedClient has open, as a backend under test.
#pragma once

#include "weir/embedded/embedded_fixture.h"
#include "weir/store/contract_client.h"

namespace weir {

/// In simulated time. The client must outlive it.
class OfClient final : public BackendHarness {
 public:
  explicit OfClient(EmbeddedClient& client) : client_(client) {}
  Backend& backend() override { return client_.backend(); }
  bool Pump() override { return client_.scheduler().RunNext(); }

 private:
  EmbeddedClient& client_;
};

}  // namespace weir
