// A part of a listing, read from an index in order.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/dynamo/table.h"

namespace weir::dynamo {

/// Finds items by an index and reads them consistently from the table, in order of their keys. The
/// index must answer in order of their partitions; among items of one partition it has none, so the
/// items of its last one wait for the next page. An index may lag behind the table: what it does
/// not show yet is missed, what is gone already is left out.
template <class Record>
class ConfigScan {
 public:
  struct Request {
    QueryRequest query;                           ///< of the index
    std::function<bool(const TableKey&)> accept;  ///< picks among the keys it finds
    /// May leave an item out. One that it cannot read is reported and left out too.
    std::function<Result<std::optional<Record>>(const Item&)> read;
    std::size_t want = 1;         ///< so many records, unless there are no more
    std::vector<TableKey> known;  ///< to be read too, whether the index shows them or not
  };

  struct Found {
    std::vector<Record> records;
    std::vector<std::string> unreadable;  ///< Page::unreadable
  };

  /// The table must outlive the call.
  static void Run(Table& table, Request request, Deadline deadline, Done<Found> done) {
    Step(Ptr(new ConfigScan(table, std::move(request), deadline, std::move(done))));
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

  static void Step(const Ptr& self) {
    self->table_.Query(self->query_, self->deadline_, [self](Result<QueryAnswer> page) {
      if (!page) return self->done_(Fail(std::move(page.error())));
      self->Collect(*page);
      Resolve(self);
    });
  }

  void Collect(const QueryAnswer& page) {
    for (const Item& item : page.items) {
      TableKey key = KeyOf(item);
      partition_ = key.pk;
      if (accept_(key)) keys_.push_back(std::move(key));
    }
    query_.start_after = page.last_key;
    std::ranges::sort(keys_);
    const auto twice = std::ranges::unique(keys_);
    keys_.erase(twice.begin(), twice.end());
  }

  // How many of the keys are of partitions that the index has told to the end.
  std::size_t CountComplete() const {
    if (!query_.start_after) return keys_.size();
    const auto open = std::ranges::lower_bound(keys_, partition_, {}, &TableKey::pk);
    return static_cast<std::size_t>(open - keys_.begin());
  }

  static void Resolve(const Ptr& self) {
    const std::size_t count =
        std::min(self->CountComplete(), self->want_ - self->found_.records.size());
    const auto end = self->keys_.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<TableKey> next(self->keys_.begin(), end);
    self->keys_.erase(self->keys_.begin(), end);
    self->table_.BatchGet(std::move(next), self->deadline_,
                          [self](Result<std::vector<std::optional<Item>>> items) {
                            if (!items) return self->done_(Fail(std::move(items.error())));
                            self->Take(*items);
                            GoOn(self);
                          });
  }

  static void GoOn(const Ptr& self) {
    const bool all = !self->query_.start_after && self->keys_.empty();
    const bool is_full = self->found_.records.size() >= self->want_;
    if (all || is_full) return self->done_(std::move(self->found_));
    if (self->CountComplete() > 0) return Resolve(self);
    Step(self);
  }

  void Take(const std::vector<std::optional<Item>>& items) {
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
  std::vector<TableKey> keys_;
  std::string partition_;  ///< of the last item that the index told of
  Found found_;
};

}  // namespace weir::dynamo
