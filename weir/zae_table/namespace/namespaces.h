// NamespaceStore on the table.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/done.h"
#include "weir/base/time.h"
#include "weir/dynamodb/table.h"
#include "weir/model/namespace.h"
#include "weir/runtime/deadline.h"
#include "weir/store/config/namespace_store.h"

namespace weir::dynamo {

/// Returns 64 random bits at each call, on any thread.
using RandomBits = std::function<std::uint64_t()>;

/// Table and clock must outlive this object and every call. Both records of a namespace change in
/// one transaction. zae-limiter's Python client writes the records separately: states between its
/// two writes are accepted, and the next change completes them. namespace_purge.h says what a purge
/// deletes. An id without a record is one that zae-limiter's clients use when they are constructed
/// directly (`id:default`).
class Namespaces final : public NamespaceStore {
 public:
  Namespaces(Table& table, const Clock& clock, RandomBits random)
      : table_(table), clock_(clock), random_(std::move(random)) {}

  void Register(std::string_view name, Deadline deadline, Done<Namespace> done) override;
  void Get(std::string_view name, Deadline deadline, Done<std::optional<Namespace>> done) override;
  void List(const PageRequest& page, Deadline deadline, Done<Page<Namespace>> done) override;
  void Delete(std::string_view name, Deadline deadline, Done<Namespace> done) override;
  void Recover(std::string_view id, Deadline deadline, Done<Namespace> done) override;
  void Orphans(const PageRequest& page, Deadline deadline, Done<Page<Namespace>> done) override;
  void Purge(std::string_view id, Deadline deadline, Done<std::uint64_t> done) override;
  void Resolve(std::string_view name_or_id, Deadline deadline, Done<std::string> done) override;

 private:
  Table& table_;
  const Clock& clock_;
  const RandomBits random_;
};

}  // namespace weir::dynamo
