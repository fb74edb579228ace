#include "weir/zae_table/bucket/parent_propagation.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "weir/zae_table/bucket/bucket_plan.h"

namespace weir::dynamo {
namespace {

constexpr int kPasses = 2;
constexpr std::size_t kMaxAtOnce = 100;
constexpr int kMaxWriteTries = 10;

// Returns the incarnation for the buckets. An entity that was created before incarnations existed
// is identified by its time of creation.
std::string IncarnationOf(const Owner& owner) {
  if (owner.incarnation && !owner.incarnation->empty()) return *owner.incarnation;
  if (owner.created_at && !owner.created_at->empty()) return *owner.created_at;
  return "-";
}

// The write on one bucket. It fails if the bucket is gone, or has a higher pgen of this
// incarnation.
Write PropagationWrite(TableKey bucket, const Owner& owner, bool cascade) {
  Write write{.kind = Write::Kind::kUpdate, .key = std::move(bucket), .item = {}, .expression = {}};
  Expression& e = write.expression;
  const std::string incarnation = IncarnationOf(owner);
  e.Set("cascade", Of(cascade)).Set("pgen", Of(owner.generation)).Set("pinc", Of(incarnation));
  if (owner.parent) {
    e.Set("parent_id", Of(*owner.parent));
  } else {
    e.Remove("parent_id");
  }
  e.RequireExists("PK");
  e.Require(fmt::format(
      "(attribute_not_exists({0}) OR {0} <> {1} OR "
      "attribute_not_exists({2}) OR {2} <= {3})",
      e.Name("pinc"), e.Of(Of(incarnation)), e.Name("pgen"), e.Of(Of(owner.generation))));
  return write;
}

// One call of PropagateParent. The request in flight keeps it alive.
//
//                                                  OnWritten
//                                                   ^     |  next bucket, or a retry
//                                                   |     v
//   ReadBuckets --> ReadOwner --> ReadPolicies --> WriteNext --> EndPage --> done
//        ^              |                                           |
//        |              +--> done, if there is no record            |
//        +------------- next page, or the second pass --------------+
class Propagator : public std::enable_shared_from_this<Propagator> {
 public:
  Propagator(Table& table, Keys keys, PropagationTarget target, Deadline deadline, Done<void> done)
      : table_(table),
        keys_(std::move(keys)),
        target_(std::move(target)),
        deadline_(deadline),
        done_(std::move(done)),
        buckets_{.index = "GSI3",
                 .partition = keys_.BucketsOf(target_.entity),
                 .sort_prefix = "BUCKET#",
                 .sort_from = {},
                 .limit = kMaxAtOnce,
                 .start_after = {}} {}

  // Reads one page of the index of buckets.
  void ReadBuckets() {
    table_.Query(buckets_, deadline_, [self = shared_from_this()](Result<QueryResponse> page) {
      if (!page) return self->End(std::move(page.error()));
      for (const Item& item : page->items) self->AddBucket(KeyOf(item).pk);
      self->buckets_.start_after = std::move(page->last_key);
      self->ReadOwner();
    });
  }

 private:
  struct Bucket {
    std::string pk;
    std::string resource;
  };

  // Adds a bucket of the page, unless an earlier page or pass has dealt with it.
  void AddBucket(std::string pk) {
    auto bucket = ParseBucketPartition(pk);
    if (!bucket || seen_.contains(pk)) return;
    unwritten_.push_back({std::move(pk), std::move(bucket->resource)});
  }

  // Reads the entity's record, once in each pass.
  void ReadOwner() {
    if (owner_ || unwritten_.empty()) return ReadPolicies();
    table_.Get(keys_.Entity(target_.entity), deadline_,
               [self = shared_from_this()](Result<std::optional<Item>> meta) {
                 if (!meta) return self->End(std::move(meta.error()));
                 self->owner_ = dynamo::ReadOwner(*meta);
                 if (!self->owner_->exists) return self->done_({});
                 self->ReadPolicies();
               });
  }

  // Reads the levels of resources that are new. Without a parent nothing cascades, whatever a level
  // says.
  void ReadPolicies() {
    std::set<std::string> resources;
    for (const Bucket& bucket : unwritten_) {
      if (!cascades_.contains(bucket.resource)) resources.insert(bucket.resource);
    }
    if (resources.empty() || !owner_->parent) return WriteNext();
    std::vector<TableKey> keys;
    for (const std::string& resource : resources) {
      for (const Level& level : LevelsOf(resource)) keys.push_back(keys_.Config(level));
    }
    table_.BatchGet(std::move(keys), deadline_,
                    [self = shared_from_this(), resources = std::move(resources)](
                        Result<std::vector<std::optional<Item>>> items) {
                      if (!items) return self->End(std::move(items.error()));
                      self->SetCascades(resources, *items);
                      self->WriteNext();
                    });
  }

  // Returns the levels that may set cascade; the first one that does counts.
  std::array<Level, 3> LevelsOf(const std::string& resource) const {
    return {Level::Entity(target_.entity, resource), Level::EntityDefault(target_.entity),
            Level::Resource(resource)};
  }

  // `items`: for each resource the items of LevelsOf, in this order.
  void SetCascades(const std::set<std::string>& resources,
                   const std::vector<std::optional<Item>>& items) {
    auto item = items.begin();
    for (const std::string& resource : resources) {
      std::optional<bool> policy;
      for (std::size_t i = 0; i < LevelsOf(resource).size(); ++i, ++item) {
        if (!policy && *item) policy = GetFlag(**item, "cascade");
      }
      cascades_[resource] = policy.value_or(owner_->cascade);
    }
  }

  // Writes the last bucket of `unwritten_`.
  void WriteNext() {
    if (unwritten_.empty()) return EndPage();
    const Bucket& bucket = unwritten_.back();
    const auto cascade = cascades_.find(bucket.resource);
    const bool cascades = cascade != cascades_.end() && cascade->second;
    table_.Apply(
        PropagationWrite({bucket.pk, std::string(kBucketSort)}, *owner_, cascades), true, deadline_,
        [self = shared_from_this()](const tl::expected<WriteResponse, WriteFailure>& result) {
          self->OnWritten(result);
        });
  }

  void OnWritten(const tl::expected<WriteResponse, WriteFailure>& result) {
    const FailureClass kind = result ? FailureClass::kPermanent : result.error().kind;
    // If the condition fails, the bucket is gone, or a process that knows a later record has
    // written it.
    if (result || kind == FailureClass::kConditional) {
      tries_ = 0;
      if (result) ++written_;
      seen_.insert(std::move(unwritten_.back().pk));
      unwritten_.pop_back();
      return WriteNext();
    }
    if (kind == FailureClass::kConflict && ++tries_ < kMaxWriteTries) return WriteNext();
    End(result.error().error);
  }

  // Ends a page.
  void EndPage() {
    if (buckets_.start_after) return ReadBuckets();
    if (++passes_ == kPasses || (target_.is_new && seen_.empty())) return done_({});
    // The second pass reads the record again: another process may have changed the record since,
    // without finding the buckets that the second pass finds.
    owner_.reset();
    cascades_.clear();
    ReadBuckets();
  }

  void End(Error error) {
    error.message = fmt::format(
        "entity {}: it is stored, but clients of zae-limiter may still use its old parent or "
        "cascade: {} of its buckets are updated, others may not be; put it again, with all other "
        "changes of the same list: {}",
        target_.entity, written_, error.message);
    done_(Fail(std::move(error)));
  }

  Table& table_;
  const Keys keys_;
  const PropagationTarget target_;
  const Deadline deadline_;
  Done<void> done_;
  QueryRequest buckets_;
  std::optional<Owner> owner_;
  std::map<std::string, bool> cascades_;  // keyed by resource
  std::vector<Bucket> unwritten_;         // the buckets of this page that are not written yet
  std::set<std::string> seen_;            // partition keys of buckets that need no (further) write
  std::size_t written_ = 0;
  int tries_ = 0;
  int passes_ = 0;
};

}  // namespace

void PropagateParent(Table& table, const Keys& keys, PropagationTarget target, Deadline deadline,
                     Done<void> done) {
  std::make_shared<Propagator>(table, keys, std::move(target), deadline, std::move(done))
      ->ReadBuckets();
}

}  // namespace weir::dynamo
