// Slots, accounts' limits and accounts' tokens in rate-limiter-py's three tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weir/aws/json_client.h"
#include "weir/rate_limiter_py/account_limit_table.h"
#include "weir/rate_limiter_py/make_tables.h"
#include "weir/rate_limiter_py/slots/slot_store.h"
#include "weir/rate_limiter_py/tokens/token_table.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/reservation/reservation_backend.h"

namespace weir::rate_limiter_py {

struct TablesBackendOptions {
  /// The seed of pauses, takes and request tokens; must differ between processes.
  std::uint64_t seed = 0;
  SlotStoreOptions slots{};  ///< slots.seed is not used
};

/// Contract: store/reservation/reservation_backend.h. The tables must exist (make_tables.h); a call
/// that needs a missing table returns kNotFound. `client` and `scheduler` must outlive the backend.
class TablesBackend final : public ReservationBackend {
 public:
  TablesBackend(JsonClient& client, Scheduler& scheduler, TableNames names,
                const TablesBackendOptions& options);

  ReservationStore& slots() override { return slots_; }
  AccountLimitStore& limits() override { return limits_; }
  TokenStore& tokens() override { return tokens_; }
  /// Returns "rate-limiter-py's tables acme-fungible-tokens, acme-limits,
  /// acme-non-fungible-tokens".
  std::string Describe() const override;
  /// Returns nothing: rate-limiter-py's clients use their wall clocks.
  std::optional<UnixMillis> OwnTime() const override { return std::nullopt; }

  /// Returns the tables, for MakeTables.
  Tables& tables() { return tables_; }

 private:
  Tables tables_;
  TokenTable tokens_;
  AccountLimitTable limits_;
  SlotStore slots_;
};

}  // namespace weir::rate_limiter_py
