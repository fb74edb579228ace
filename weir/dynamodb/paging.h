// Reads one page of the items that a query finds and a filter accepts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/done.h"
#include "weir/base/page.h"
#include "weir/dynamodb/table.h"
#include "weir/runtime/deadline.h"

namespace weir::dynamo {

inline constexpr std::size_t kMaxUnreadable = 1000;

/// A query whose items are converted to T. The objects that its functions refer to must live until
/// the result is reported.
template <class T>
struct PagedQuery {
  QueryRequest request;
  std::size_t limit = 1000;  ///< see PageRequest::limit
  /// The minimum number of items that each request of the query reads. Should be higher if `read`
  /// leaves out many items.
  std::size_t least_at_once = 1;
  /// Returns nothing for an item that is to be left out. An error ends the query. If
  /// `lists_unreadable` is set, the messages of the first kMaxUnreadable errors of a page become
  /// the lines of Page::unreadable instead, and only a further error ends the query.
  std::function<Result<std::optional<T>>(const Item&)> read;
  bool lists_unreadable = false;
  /// Returns PageRequest::cursor of the page after `last`.
  std::function<std::string(const T& last)> cursor;
  /// Returns true if neither this item nor a later one can be wanted. Null: always false.
  std::function<bool(const Item&)> ends = nullptr;
};

/// Reads pages of the table until `limit` wanted items are found and it is known whether there is
/// one more. So an empty page is always the last one, and the last page has an empty Page::next.
/// Returns kInvalidArgument for a limit of 0. The table must outlive the call.
template <class T>
void ReadPage(Table& table, PagedQuery<T> query, Deadline deadline, Done<Page<T>> done) {
  struct Reading {
    Table& table;
    PagedQuery<T> query;
    Deadline deadline;
    Done<Page<T>> done;
    std::vector<T> found{};
    std::vector<std::string> unreadable{};
    std::size_t unreadable_of_page = 0;  // the number before the page's last item

    bool has_more() const { return found.size() > query.limit; }

    // Returns true if no further page is needed.
    Result<bool> Take(const QueryResponse& response) {
      for (const Item& item : response.items) {
        if (query.ends != nullptr && query.ends(item)) return true;
        Result<std::optional<T>> read = query.read(item);
        if (!read && (!query.lists_unreadable || unreadable.size() == kMaxUnreadable)) {
          return Fail(std::move(read.error()));
        }
        if (!read) {
          unreadable.push_back(std::move(read.error().message));
        } else if (*read) {
          if (found.size() < query.limit) unreadable_of_page = unreadable.size();
          found.push_back(**std::move(read));
        }
        if (has_more()) return true;
      }
      return !response.last_key;
    }
    void Finish() {
      Page<T> page;
      if (has_more()) {
        found.resize(query.limit);
        unreadable.resize(unreadable_of_page);  // the next page reads the others
        page.next = query.cursor(found.back());
      }
      page.items = std::move(found);
      page.unreadable = std::move(unreadable);
      done(std::move(page));
    }
    static void ReadNextPage(std::unique_ptr<Reading> self) {
      Reading& reading = *self;
      reading.table.Query(reading.query.request, reading.deadline,
                          [self = std::move(self)](Result<QueryResponse> response) mutable {
                            if (!response) return self->done(Fail(std::move(response.error())));
                            const Result<bool> ended = self->Take(*response);
                            if (!ended) return self->done(Fail(ended.error()));
                            if (*ended) return self->Finish();
                            self->query.request.start_after = std::move(response->last_key);
                            ReadNextPage(std::move(self));
                          });
    }
  };
  if (const Status valid = CheckLimit({.cursor = {}, .limit = query.limit}); !valid) {
    return done(Fail(valid.error()));
  }
  constexpr std::size_t kMaxAtOnce = 1000;
  query.request.limit = std::max(std::min(query.limit, kMaxAtOnce - 1) + 1, query.least_at_once);
  Reading::ReadNextPage(
      std::make_unique<Reading>(Reading{table, std::move(query), deadline, std::move(done)}));
}

}  // namespace weir::dynamo
