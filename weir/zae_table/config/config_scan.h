// Reads a part of a listing in the order of an index.
//
//   Run --> Query a page of keys <--------------+
//             |                                 |
//             v                                 |
//           Resolve: read the items <---+       |
//             |                         |       |
//             +-- more keys are known --+       |
//             +-- more pages -------------------+
//             +-- enough records, or no more --> done
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/dynamodb/table.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

/// Finds items by an index and reads them consistently from the table, in the order of their keys.
/// The index must return them in the order of their partitions. Within a partition the index has no
/// order, so the keys of the last partition of a page are held until the next page. An index may
/// lag behind the table: items that it does not show yet are missed, and deleted items are left
/// out.
template <class Record>
class ConfigScan {
 public:
  struct Request {
    QueryRequest query;                           ///< the query of the index
    std::function<bool(const TableKey&)> accept;  ///< selects keys of the index
    /// Parses an item. Nothing: the item is left out. An error: its message is added to
    /// `unreadable`.
    std::function<Result<std::optional<Record>>(const Item&)> read;
    std::size_t want = 1;         ///< the number of records, unless there are fewer
    std::vector<TableKey> known;  ///< keys that are read whether the index shows them or not
  };

  struct Found {
    std::vector<Record> records;
    std::vector<std::string> unreadable;  ///< as Page::unreadable
  };

  /// Runs `done` once, with at most `want` records. `table` must outlive the call.
  static void Run(Table& table, Request request, Deadline deadline, Done<Found> done) {
    QueryPage(Ptr(new ConfigScan(table, std::move(request), deadline, std::move(done))));
  }

 private:
  using Ptr = std::shared_ptr<ConfigScan>;

  ConfigScan(Table& table, Request request, Deadline deadline, Done<Found> done)
      : table_(table),
        query_(std::move(request.query)),
        accept_(std::move(request.accept)),
        read_(std::move(request.read)),
        want_(request.want),
        deadline_(deadline),
        done_(std::move(done)),
        keys_(std::move(request.known)) {}

  static void QueryPage(const Ptr& self) {
    self->table_.Query(self->query_, self->deadline_, [self](Result<QueryResponse> page) {
      if (!page) return self->done_(Fail(std::move(page.error())));
      self->Collect(*page);
      Resolve(self);
    });
  }

  // Adds the accepted keys of the page to keys_, sorted, each once.
  void Collect(const QueryResponse& page) {
    for (const Item& item : page.items) {
      TableKey key = KeyOf(item);
      partition_ = key.pk;
      if (accept_(key)) keys_.push_back(std::move(key));
    }
    query_.start_after = page.last_key;
    std::ranges::sort(keys_);
    const auto duplicates = std::ranges::unique(keys_);
    keys_.erase(duplicates.begin(), duplicates.end());
  }

  // Returns the number of keys in keys_ whose partitions the index has returned completely. These
  // keys come first.
  std::size_t CountComplete() const {
    if (!query_.start_after) return keys_.size();
    const auto incomplete = std::ranges::lower_bound(keys_, partition_, {}, &TableKey::pk);
    return static_cast<std::size_t>(incomplete - keys_.begin());
  }

  // Reads the items of complete partitions, as many as are wanted.
  static void Resolve(const Ptr& self) {
    const std::size_t count =
        std::min(self->CountComplete(), self->want_ - self->found_.records.size());
    const auto end = self->keys_.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<TableKey> next(self->keys_.begin(), end);
    self->keys_.erase(self->keys_.begin(), end);
    self->table_.BatchGet(std::move(next), self->deadline_,
                          [self](Result<std::vector<std::optional<Item>>> items) {
                            if (!items) return self->done_(Fail(std::move(items.error())));
                            self->AddRecords(*items);
                            RunNext(self);
                          });
  }

  static void RunNext(const Ptr& self) {
    const bool is_at_end = !self->query_.start_after && self->keys_.empty();
    const bool is_full = self->found_.records.size() >= self->want_;
    if (is_at_end || is_full) return self->done_(std::move(self->found_));
    if (self->CountComplete() > 0) return Resolve(self);
    QueryPage(self);
  }

  void AddRecords(const std::vector<std::optional<Item>>& items) {
    for (const std::optional<Item>& item : items) {
      if (!item) continue;
      Result<std::optional<Record>> record = read_(*item);
      if (!record) {
        found_.unreadable.push_back(std::move(record.error().message));
      } else if (*record) {
        found_.records.push_back(**std::move(record));
      }
    }
  }

  Table& table_;
  QueryRequest query_;
  std::function<bool(const TableKey&)> accept_;
  std::function<Result<std::optional<Record>>(const Item&)> read_;
  std::size_t want_;
  Deadline deadline_;
  Done<Found> done_;
  std::vector<TableKey> keys_;  ///< keys whose items are not read yet, sorted
  std::string partition_;       ///< the partition of the last item that the index has returned
  Found found_;
};

}  // namespace weir::dynamo
