#include "weir/zae_table/config/entity_eraser.h"

#include <memory>
#include <utility>
#include <vector>

#include "weir/zae_table/config/config_item.h"

namespace weir::dynamo {
namespace {

// One call of EraseRecords. The step in flight keeps it alive.
//
//   ReadBuckets --> EraseNextBucket --> ... --> EraseOwn --> Finish
//        ^                               |
//        +--- the index has more pages --+
class Eraser : public std::enable_shared_from_this<Eraser> {
 public:
  Eraser(Table& table, QueryRequest buckets, QueryRequest own, Deadline deadline, Done<void> done)
      : table_(table),
        buckets_(std::move(buckets)),
        own_(std::move(own)),
        deadline_(deadline),
        done_(std::move(done)) {}

  // Reads one page of the index of buckets.
  void ReadBuckets() {
    table_.Query(buckets_, deadline_, [self = shared_from_this()](Result<QueryResponse> page) {
      if (!page) return self->done_(Fail(std::move(page.error())));
      for (const Item& item : page->items) self->partitions_.push_back(KeyOf(item).pk);
      self->buckets_.start_after = std::move(page->last_key);
      self->EraseNextBucket();
    });
  }

 private:
  // Erases one more partition of the page; after the last one, reads the next page.
  void EraseNextBucket() {
    if (partitions_.empty()) return buckets_.start_after ? ReadBuckets() : EraseOwn();
    QueryRequest all{.index = {},
                     .partition = std::move(partitions_.back()),
                     .sort_prefix = {},
                     .sort_from = {},
                     .start_after = {}};
    partitions_.pop_back();
    ErasePages(std::move(all), &Eraser::EraseNextBucket);
  }

  void EraseOwn() { ErasePages(own_, &Eraser::Finish); }

  void Finish() { done_({}); }

  // Erases all pages of `request`, then runs `then`.
  void ErasePages(QueryRequest request, void (Eraser::*then)()) {
    const QueryRequest& asked = request;
    table_.Query(asked, deadline_,
                 [self = shared_from_this(), request, then](Result<QueryResponse> page) mutable {
                   if (!page) return self->done_(Fail(std::move(page.error())));
                   request.start_after = std::move(page->last_key);
                   self->Erase(page->items, std::move(request), then);
                 });
  }

  // Erases one page: all items but the entity's own one and its configurations.
  void Erase(const std::vector<Item>& items, QueryRequest request, void (Eraser::*then)()) {
    std::vector<TableKey> deleted;
    for (const Item& item : items) {
      TableKey key = KeyOf(item);
      const bool stays =
          key.pk == own_.partition && (key.sk == kEntitySort || key.sk.starts_with(kConfigSort));
      if (!stays) deleted.push_back(std::move(key));
    }
    table_.DeleteAll(
        std::move(deleted), deadline_,
        [self = shared_from_this(), request = std::move(request), then](Status erased) {
          if (!erased) return self->done_(Fail(std::move(erased.error())));
          if (request.start_after) return self->ErasePages(request, then);
          (self.get()->*then)();
        });
  }

  Table& table_;
  QueryRequest buckets_;
  const QueryRequest own_;
  const Deadline deadline_;
  Done<void> done_;
  std::vector<std::string> partitions_;  // of the page, not erased yet
};

}  // namespace

void EraseRecords(Table& table, const Keys& keys, const std::string& entity, Deadline deadline,
                  Done<void> done) {
  QueryRequest buckets{.index = "GSI3",
                       .partition = keys.BucketsOf(entity),
                       .sort_prefix = "BUCKET#",
                       .sort_from = {},
                       .start_after = {}};
  QueryRequest own{.index = {},
                   .partition = keys.EntityPartition(entity),
                   .sort_prefix = {},
                   .sort_from = {},
                   .start_after = {}};
  std::make_shared<Eraser>(table, std::move(buckets), std::move(own), deadline, std::move(done))
      ->ReadBuckets();
}

}  // namespace weir::dynamo
