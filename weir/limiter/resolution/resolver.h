// Resolves the limits that apply to an (entity, resource) pair, and caches them. Mechanism:
// docs/design/limiter.md.
#pragma once

#include <absl/container/inlined_vector.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weir/base/api.h"
#include "weir/base/done.h"
#include "weir/store/bucket/charge.h"
#include "weir/store/config/config_store.h"
#include "weir/telemetry/counter.h"

namespace weir {

/// The limits that apply to one (entity, resource) pair. Immutable; shared by all requests on the
/// pair.
struct Resolved {
  /// The buckets that a request charges: the entity's own first, then its parent's and so on as
  /// long as `cascade` is set, at most kMaxCascade. Ancestors to which no limits apply are left
  /// out.
  absl::InlinedVector<TargetPtr, 2> targets;
  absl::InlinedVector<Level::Kind, 2> kinds;  ///< the kind of level that sets each target's limits
  Level source;                               ///< the level that the entity's own limits come from
  Instant began;                              ///< start of the first read, by Clock::Now
  /// The value of the system level; unset if it sets none.
  std::optional<OnUnavailable> on_unavailable;
};
using ResolvedPtr = std::shared_ptr<const Resolved>;
struct Resolution;
using ResolutionPtr = std::shared_ptr<const Resolution>;

struct ResolverStats {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t joined = 0;   ///< calls that joined a fetch in flight, or wait for the next one
  std::uint64_t evicted = 0;  ///< pairs that were evicted because the cache was full
  std::uint64_t size = 0;     ///< occupied slots of the cache now
};

struct ResolverOptions {
  milliseconds ttl{60'000};        ///< counted from the start of a fetch; 0: no cache, no sharing
  std::size_t capacity = 200'000;  ///< pairs
};

/// The cached pairs that a list of changes may have affected.
struct WEIR_API AffectedPairs {
  bool all = false;                   ///< a system or resource level
  std::vector<std::string> entities;  ///< pairs of these and of their descendants

  bool nothing() const { return !all && entities.empty(); }
};
/// Returns the pairs that these changes may alter.
WEIR_API AffectedPairs PairsAffectedBy(std::span<const ConfigChange> changes);

/// Thread-safe. The store and the clock must outlive it. It may be destroyed only when no call is
/// in flight.
///
/// Errors are those of the store, which are not cached, and two cached ones: kInvalidArgument if no
/// limits apply to the entity, and kFailedPrecondition if its chain of parents is a cycle or longer
/// than kMaxCascade. Resolve also fails with kInvalidArgument if a name is not valid.
class WEIR_API Resolver {
 public:
  Resolver(ConfigStore& store, const Clock& clock, ResolverOptions options);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// Returns the cached limits if they are valid. Otherwise returns null; then call Resolve. Does
  /// not call the store.
  ResolvedPtr Find(std::string_view entity, std::string_view resource);
  /// Passes the limits to `done`, from the cache or from the store. Calls that miss one pair at the
  /// same time share one fetch, except a call whose deadline is before that of the fetch.
  void Resolve(std::string_view entity, std::string_view resource, Deadline deadline,
               Done<ResolvedPtr> done);
  /// Like Resolve, but with reads that begin after this call. The result replaces the cached one;
  /// if the two differ, other pairs that the same change may have affected are dropped. Calls for
  /// one pair during a fetch that began before these calls share the next fetch.
  void Renew(std::string_view entity, std::string_view resource, Deadline deadline,
             Done<ResolvedPtr> done);

  /// Drops cached pairs. Call it when the changes have been made: results from before them are not
  /// returned to calls that begin afterwards.
  void DropAffected(const AffectedPairs& affected);
  /// Drops all cached pairs.
  void ForgetAll();

  /// Returns the policy of the system level as last read; nullopt if it sets none or was never
  /// read.
  std::optional<OnUnavailable> last_on_unavailable() const;
  ResolverStats stats() const;
  /// Returns the number of calls to the store.
  std::uint64_t store_reads() const { return store_reads_.Value(); }

 private:
  struct WEIR_INTERNAL Caches;  // the cache, and the fetches in flight
  struct WEIR_INTERNAL Fetch;
  struct WEIR_INTERNAL MemberReads;
  struct WEIR_INTERNAL Waiter;
  using FetchPtr = std::shared_ptr<Fetch>;

  /// Joins a fetch in flight or begins one.
  void JoinOrFetch(std::string_view entity, std::string_view resource, Waiter waiter);
  /// Returns true if the caller joined another fetch. Otherwise sets `found` if the pair has been
  /// cached meanwhile, or else registers `fetch`, which the caller must begin.
  bool JoinFetch(const FetchPtr& fetch, Waiter& waiter, ResolutionPtr& found);
  /// Reads the last member of the chain: its record and its levels.
  void ReadMember(FetchPtr fetch);
  /// Takes both results, then reads the parent or chooses the limits.
  void TakeMember(MemberReads& reading);
  /// Chooses the limits from the levels of the whole chain.
  void ChooseFromLevels(const FetchPtr& fetch);
  /// Caches the result and ends the fetch.
  void FinishFetch(const FetchPtr& fetch, Result<Resolved> result);
  /// Puts the result into the cache; drops the pairs that it shows to be outdated.
  void CacheResult(const Fetch& fetch, const ResolutionPtr& resolution);
  /// Passes the result to the callers; begins the next fetch if some need one.
  void EndFetch(const FetchPtr& fetch, const Result<ResolutionPtr>& result);

  ConfigStore& store_;
  const Clock& clock_;
  ResolverOptions options_;
  std::unique_ptr<Caches> caches_;
  std::atomic<int> last_on_unavailable_ = -1;
  std::atomic<std::uint64_t> fetches_ = 0;  ///< number of fetches that have begun
  Counter hits_;
  Counter misses_;
  Counter joined_;
  Counter store_reads_;
};

}  // namespace weir
