// A Limiter on a table and a count of its admissions, for the tests with a failing engine.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/backends/open.h"
#include "weir/limiter/limiter.h"
#include "weir/runtime/await.h"
#include "weir/runtime/loop.h"

namespace weir {

/// The deadline of each call. Deadline and grace together are less than one attempt may take.
inline constexpr milliseconds kDeadline{1'000};
inline constexpr milliseconds kGrace{1'500};
/// For events that must happen, on the slowest machine.
inline constexpr std::chrono::seconds kPatience{60};
inline constexpr std::int64_t kCapacity = 1'000'000;

/// The options of one thread's requests.
struct RequestProfile {
  const char* name;
  std::optional<OnUnavailable> policy;
  bool cold;  ///< each request is of an entity that was not seen before
};

/// A Limiter, and the number of tokens that it reported as taken.
class Fleet {
 public:
  explicit Fleet(const std::string& url) : loop_(clock_), backend_(Open(url, clock_)) {
    limiter_.emplace(*backend_, loop_);
    const Limit limit{"rpm", PerDay(1).Burst(kCapacity)};
    Entity child{.id = "child", .name = "child", .parent = "parent", .cascade = true};
    const Status applied = limiter_->Apply(
        {PutLimits{Level::System(), {.limits = {limit}, .on_unavailable = OnUnavailable::kAllow}},
         PutEntity{{.entity = child}}},
        Deadline::After(clock_, kPatience));
    EXPECT_TRUE(applied) << applied.error().message;
  }

  Result<Outcome> Acquire(const RequestProfile& profile) {
    const std::string entity =
        profile.cold ? fmt::format("cold-{}", cold_entities_++) : std::string("child");
    const Instant begun = clock_.Now();
    auto outcome = limiter_->Acquire({.entity = entity,
                                      .resource = "llm",
                                      .amounts = {{"rpm", 1}},
                                      .on_unavailable = profile.policy},
                                     Deadline::After(clock_, kDeadline));
    EXPECT_LT(clock_.Now() - begun, kDeadline + kGrace) << profile.name;
    if (outcome && outcome->admitted() && !outcome->unprotected() && !profile.cold) ++taken_;
    return outcome;
  }

  /// Expects that every token that was reported as taken is taken in the table.
  void ExpectReportedIsTaken() {
    for (const char* entity : {"child", "parent"}) {
      std::int64_t left = 0;
      for (const BucketRecord& record : Buckets(entity)) left += record.bucket.meters.at(0).tokens;
      EXPECT_GE(Consumed(entity), taken_) << entity;
      EXPECT_LE(left, (kCapacity - taken_ + 1) * kMillitokens) << entity;
    }
  }

  std::int64_t Consumed(const char* entity) {
    std::int64_t consumed = 0;
    for (const BucketRecord& record : Buckets(entity))
      consumed += record.bucket.meters.at(0).consumed;
    return consumed / kMillitokens;
  }

  const SystemClock& clock() const { return clock_; }

 private:
  static std::unique_ptr<Backend> Open(const std::string& url, const Clock& clock) {
    auto backend = OpenBackend(url, clock);
    if (!backend) {
      std::cerr << backend.error().message << '\n';
      std::exit(1);
    }
    return std::move(*backend);
  }

  std::vector<BucketRecord> Buckets(const char* entity) {
    const BucketFilter filter{.entity = entity, .resource = {}};
    const auto page = Await<Page<BucketRecord>>([&](auto done) {
      backend_->buckets().List(filter, {}, Deadline::After(clock_, kPatience), std::move(done));
    });
    EXPECT_TRUE(page) << page.error().message;
    return page ? page->items : std::vector<BucketRecord>();
  }

  SystemClock clock_;
  Loop loop_;
  std::unique_ptr<Backend> backend_;
  std::optional<Limiter> limiter_;
  std::atomic<int> cold_entities_ = 0;
  std::atomic<std::int64_t> taken_ = 0;
};

}  // namespace weir
