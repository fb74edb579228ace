#include "weir/zae_table/config/config_conform.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "weir/dynamodb/done_chain.h"
#include "weir/dynamodb/start_all.h"
#include "weir/store/config/limit_levels.h"
#include "weir/zae_table/config/config_fields.h"
#include "weir/zae_table/config/config_reader.h"

namespace weir::dynamo {
namespace {

constexpr std::size_t kConformedAtOnce = 25;
constexpr std::size_t kBucketsInAPage = 100;
constexpr std::size_t kMaxNamed = 10;
constexpr std::size_t kMaxFailures = 10;

// Returns true for errors that are caused by one bucket or its configuration alone.
bool ConcernsOne(Code code) {
  return code == Code::kFailedPrecondition || code == Code::kDataLoss || code == Code::kAborted ||
         code == Code::kInvalidArgument;
}

// Returns the limits to be stored in a bucket. Limits that block get the quota that their level's
// item stores, because clients of zae-limiter and the aggregator use the bucket's parameters.
LevelLimits AsStored(LevelLimits limits) {
  for (Limit& limit : limits.limits) {
    if (Blocks(limit)) limit.quota = FromStored(ToStored(limit.quota));
  }
  return limits;
}

// One call of ConformBuckets. Pending requests own it. It alternates between reading pages of the
// entities' buckets and conforming up to kConformedAtOnce of these buckets, until both lists are
// empty.
class Conforming : public std::enable_shared_from_this<Conforming> {
 public:
  Conforming(Table& table, Keys keys, BucketLimits& buckets, Deadline deadline, Done<void> done)
      : table_(table),
        keys_(std::move(keys)),
        buckets_(buckets),
        deadline_(deadline),
        done_(std::move(done)) {}

  void Start(const std::vector<Level>& levels) {
    for (const Level& level : levels) {
      if (level.kind == Level::Kind::kEntity) found_.push_back({{level.entity, level.resource}});
      if (level.kind == Level::Kind::kEntityDefault) listings_.push_back(QueryOf(level.entity));
    }
    RunNext();
  }

 private:
  struct Found {
    BucketKey key;
    bool by_default = false;  // found because the entity's default changed, which may not apply
  };
  struct Listing {
    std::string entity;
    QueryRequest query;
  };

  Listing QueryOf(const std::string& entity) const {
    return {.entity = entity,
            .query = {.index = "GSI3",
                      .partition = keys_.BucketsOf(entity),
                      .sort_prefix = "BUCKET#",
                      .sort_from = {},
                      .limit = kBucketsInAPage,
                      .start_after = {}}};
  }

  // Conforms the buckets that are found before it reads further pages, to bound the memory.
  void RunNext() {
    if (failed_ >= kMaxFailures) return End();
    if (!found_.empty()) return ConformSome();
    if (!listings_.empty()) return ListSome();
    End();
  }

  void ListSome() {
    std::vector<Listing> some = TakeSome(listings_);
    const auto self = shared_from_this();
    const auto batch = std::make_shared<const std::vector<Listing>>(std::move(some));
    StartAll<QueryResponse>(
        batch->size(),
        [&](std::size_t i, Done<QueryResponse> done) {
          table_.Query((*batch)[i].query, deadline_, std::move(done));
        },
        [self, batch](std::vector<Result<QueryResponse>> pages) {
          for (std::size_t i = 0; i < pages.size(); ++i) self->TakePage((*batch)[i], pages[i]);
          self->RunNext();
        });
  }

  void TakePage(Listing listing, Result<QueryResponse>& page) {
    if (!page) return NoteFailure(NameOf(listing), page.error());
    failed_ = 0;
    std::set<std::string> resources;  // once each, although each shard is an item
    for (const Item& item : page->items) {
      auto key = ParseBucketPartition(KeyOf(item).pk);
      if (key) resources.insert(std::move(key->resource));
    }
    for (const std::string& resource : resources) {
      found_.push_back({.key = {listing.entity, resource}, .by_default = true});
    }
    if (!page->last_key) return;
    listing.query.start_after = std::move(page->last_key);
    listings_.push_back(std::move(listing));
  }

  void ConformSome() {
    const auto self = shared_from_this();
    const auto some = std::make_shared<const std::vector<Found>>(TakeSome(found_));
    StartAll<void>(
        some->size(), [&](std::size_t i, Done<void> done) { Conform((*some)[i], std::move(done)); },
        [self, some](const std::vector<Status>& results) {
          for (std::size_t i = 0; i < results.size(); ++i) {
            if (results[i]) {
              self->failed_ = 0;
            } else {
              self->NoteFailure(NameOf((*some)[i]), results[i].error());
            }
          }
          self->RunNext();
        });
  }

  // Reads the limits that apply to the bucket, and has them stored. A bucket that was found by the
  // entity's default is not changed if it has a level of its own (level 0).
  void Conform(const Found& found, Done<void> done) {
    const auto levels = LevelsOfPair(found.key.entity, found.key.resource);
    ReadLimits(table_, keys_, levels, deadline_,
               Then<LimitsByLevel>(std::move(done), [self = shared_from_this(), found](
                                                        LimitsByLevel results, Done<void> next) {
                 const auto level = FirstWithLimits(results, {0, 1, 2, 3});
                 if (!level || (found.by_default && *level == 0)) return next({});
                 TargetPtr target = TargetOf(found.key, AsStored(*std::move(results[*level])));
                 self->buckets_.Conform(std::move(target), self->deadline_, std::move(next));
               }));
  }

  // Removes and returns up to kConformedAtOnce elements.
  template <class T>
  static std::vector<T> TakeSome(std::vector<T>& all) {
    const std::size_t count = std::min(all.size(), kConformedAtOnce);
    const auto first = all.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<T> some(std::make_move_iterator(first), std::make_move_iterator(all.end()));
    all.erase(first, all.end());
    return some;
  }

  static std::string NameOf(const Found& found) {
    return fmt::format("{}/{}", found.key.entity, found.key.resource);
  }

  static std::string NameOf(const Listing& listing) {
    return fmt::format("{} buckets of {}", listing.query.start_after ? "more" : "all",
                       listing.entity);
  }

  // Counts a failure; `what` names the bucket or the page.
  void NoteFailure(std::string what, const Error& error) {
    if (missed_++ < kMaxNamed) named_.push_back(std::move(what));
    if (!first_) first_ = error;
    if (!ConcernsOne(error.code)) ++failed_;
  }

  // Buckets and pages that were not tried after too many failures are reported as missed too.
  void End() {
    if (!first_) return done_({});
    const Error error = *first_;
    for (const Found& found : found_) NoteFailure(NameOf(found), error);
    for (const Listing& listing : listings_) NoteFailure(NameOf(listing), error);
    const std::size_t others = missed_ - named_.size();
    const std::string more = others == 0 ? "" : fmt::format(" and {} more", others);
    done_(Fail(error.code,
               fmt::format("the change is stored, but buckets may still have the limits from "
                           "before it: {}{}; make the same change again, or wait until the next "
                           "requests on these buckets store the new limits: {}",
                           fmt::join(named_, ", "), more, error.message)));
  }

  Table& table_;
  const Keys keys_;
  BucketLimits& buckets_;
  const Deadline deadline_;
  Done<void> done_;
  std::vector<Found> found_;
  std::vector<Listing> listings_;
  std::vector<std::string> named_;  // the first buckets that were missed
  std::size_t missed_ = 0;
  std::size_t failed_ = 0;  // failures in a row that may concern all buckets
  std::optional<Error> first_;
};

}  // namespace

std::vector<Level> EntityLevelsIn(std::span<const ConfigChange> changes) {
  std::set<Level> levels;
  const auto note = [&](const Level& level) {
    if (!level.entity.empty()) levels.insert(level);
  };
  for (const ConfigChange& change : changes) {
    if (const auto* put = std::get_if<PutLimits>(&change)) note(put->level);
    if (const auto* gone = std::get_if<DeleteLimits>(&change)) note(gone->level);
  }
  return {levels.begin(), levels.end()};
}

void ConformBuckets(Table& table, const Keys& keys, BucketLimits& buckets,
                    const std::vector<Level>& levels, Deadline deadline, Done<void> done) {
  std::make_shared<Conforming>(table, keys, buckets, deadline, std::move(done))->Start(levels);
}

}  // namespace weir::dynamo
