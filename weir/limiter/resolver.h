// Which limits hold for (entity, resource), remembered. Mechanism: docs/design/limiter.md.
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

#include "weir/base/done.h"
#include "weir/store/charge.h"
#include "weir/store/config_store.h"
#include "weir/telemetry/counter.h"

namespace weir {

/// The answer for one (entity, resource). Immutable, shared by all requests on the pair.
struct Resolved {
  /// The buckets a request charges: the entity's own first, then its parent's and so on while
  /// `cascade` says so, at most kMaxCascade. An ancestor for whom no limits are set is left out.
  absl::InlinedVector<TargetPtr, 2> targets;
  absl::InlinedVector<Level::Kind, 2> kinds;  ///< of the level that each target's limits come from
  Level source;                               ///< the level that the entity's own limits come from
  Instant began;                              ///< when the reads that found all this began
  std::optional<OnUnavailable> on_unavailable;
};
using ResolvedPtr = std::shared_ptr<const Resolved>;
struct Resolution;
using ResolutionPtr = std::shared_ptr<const Resolution>;

struct ResolverStats {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t joined = 0;   ///< misses that waited for a fetch already under way
  std::uint64_t evicted = 0;  ///< pairs that left for want of room
  std::uint64_t size = 0;
};

struct ResolverOptions {
  milliseconds ttl{60'000};        ///< 0: nothing is remembered or shared
  std::size_t capacity = 200'000;  ///< pairs
};

/// What a list of changes may have altered among the pairs that are remembered.
struct Altered {
  bool all = false;                   ///< a system or resource level
  std::vector<std::string> entities;  ///< pairs of these and of their descendants

  bool nothing() const { return !all && entities.empty(); }
};
Altered AlteredBy(std::span<const ConfigChange> changes);

/// Thread-safe. The store and the clock must outlive it; destroyed only when no call is under way.
///
/// Errors are those of the store, and two that are answers, remembered like any other:
/// kInvalidArgument where no limits are set at any level of the entity (or a name is not valid),
/// kFailedPrecondition where its chain of parents ends in itself or is longer than kMaxCascade.
class Resolver {
 public:
  Resolver(ConfigStore& store, const Clock& clock, ResolverOptions options);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// What is remembered and still believed; null: ask with Resolve. Calls nobody.
  ResolvedPtr Find(std::string_view entity, std::string_view resource);
  /// Asks the store where nothing is remembered. Those who miss one pair at the same time share one
  /// fetch, unless their deadlines differ so much that one would wait beyond its own.
  void Resolve(std::string_view entity, std::string_view resource, Deadline deadline,
               Done<ResolvedPtr> done);
  /// As Resolve, but by reads that begin after this call. The answer takes the place of what is
  /// remembered; other pairs are forgotten that the change between the two altered. Calls for one
  /// pair that come during a fetch, which began too early for them, share the next.
  void Renew(std::string_view entity, std::string_view resource, Deadline deadline,
             Done<ResolvedPtr> done);

  /// To be called once the changes were made: no answer from before them is given afterwards.
  void Forget(const Altered& altered);
  void ForgetAll();

  /// The system level's setting as last read; nothing where it says nothing or was never read.
  std::optional<OnUnavailable> last_on_unavailable() const;
  ResolverStats stats() const;
  std::uint64_t store_reads() const { return store_reads_.Value(); }

 private:
  struct Remembered;  // the cache, and the fetches that are under way
  struct Fetch;
  struct Reading;
  struct Asker;
  using FetchPtr = std::shared_ptr<Fetch>;

  void Ask(std::string_view entity, std::string_view resource, Asker asker);
  bool Join(const FetchPtr& fetch, Asker& asker, ResolutionPtr& found);
  void ReadMember(FetchPtr fetch);
  void TakeMember(Reading& reading);
  void Conclude(const FetchPtr& fetch);
  void Answer(const FetchPtr& fetch, Result<Resolved> answer);
  void Remember(const Fetch& fetch, const ResolutionPtr& resolution);
  void End(const FetchPtr& fetch, const Result<ResolutionPtr>& result);

  ConfigStore& store_;
  const Clock& clock_;
  ResolverOptions options_;
  std::unique_ptr<Remembered> remembered_;
  std::atomic<int> last_on_unavailable_ = -1;
  std::atomic<std::uint64_t> fetches_ = 0;  ///< that have begun
  Counter hits_;
  Counter misses_;
  Counter joined_;
  Counter store_reads_;
};

}  // namespace weir
