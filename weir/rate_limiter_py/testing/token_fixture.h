// A simulated table of tokens, with processes of ours and clients of rate-limiter-py. For tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weir/bucket/testing/reference_bucket.h"
#include "weir/dynamodb/testing/sim_table.h"
#include "weir/rate_limiter_py/tables.h"
#include "weir/rate_limiter_py/tokens/token_table.h"

namespace weir::rate_limiter_py {

inline const AccountKey kKey{"emr", "acme"};
/// One token is refilled every ten seconds.
inline constexpr AccountLimit kTenPer100{10, std::chrono::seconds(100)};
inline constexpr UnixMillis kStart{1'767'225'600'013};

struct TokenSim {
  TokenSim();

  /// Takes at `later` after kStart, by a process of ours.
  Result<TokenResult> Take(TokenTable& process, std::int64_t later, std::int64_t count = 1,
                           const AccountLimit& limit = kTenPer100);
  Result<TokenResult> Take(std::int64_t later, std::int64_t count = 1,
                           const AccountLimit& limit = kTenPer100) {
    return Take(ours, later, count, limit);
  }
  /// Returns the bucket's item; nothing if it does not exist.
  std::optional<dynamo::Item> Item() { return sim.Get(TableKeyOf(kKey)); }
  std::int64_t Number(std::string_view attribute);
  /// Puts an item with its key and these numbers.
  void Put(std::initializer_list<std::pair<std::string_view, std::int64_t>> numbers);
  std::uint64_t writes() const { return sim.server.counts().Requests("UpdateItem"); }

  TableLayouts layouts;
  dynamo::SimTable sim;
  TokenTable ours;
};

/// A client of rate-limiter-py 0.3.0 with a process of its own: the second and the third of the
/// three requests of its get_token (the first reads the limit).
class PyClient {
 public:
  /// The published release reads `last_refill`, which no client writes; the repaired one reads
  /// `lastRefill`, as intended.
  enum class Release { kPublished, kRepaired };
  PyClient(TokenSim& sim, Release release, AccountLimit limit = kTenPer100)
      : sim_(sim), release_(release), limit_(limit) {}

  /// Returns false for CapacityExhaustedException.
  bool GetToken(std::int64_t later);
  /// The two requests. TakeStep returns nothing if the bucket is exhausted, else the item
  /// afterwards.
  std::optional<dynamo::Item> TakeStep(std::int64_t later);
  void RefillStep(const dynamo::Item& taken, std::int64_t later);

 private:
  std::optional<dynamo::Item> Apply(dynamo::Write write);

  TokenSim& sim_;
  Release release_;
  AccountLimit limit_;
};

/// A slow and obvious bucket with exact fractions. If a request has another limit, used tokens stay
/// used, and the bucket refills under the new limit from this request on.
class TokenModel {
 public:
  explicit TokenModel(const AccountLimit& limit);
  bool Take(std::int64_t later, std::int64_t count, const AccountLimit& limit);
  std::int64_t AvailableAt(std::int64_t later, const AccountLimit& limit) const;

 private:
  ReferenceLimit At(std::int64_t later, const AccountLimit& limit) const;

  ReferenceLimit limit_;
  std::int64_t at_ = 0;
};

}  // namespace weir::rate_limiter_py
