// ReservationRows in an SQLite file. Format: docs/design/embedded.md.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "weir/embedded/file/schema.h"
#include "weir/embedded/file/sqlite.h"
#include "weir/embedded/rows/bucket_reader.h"
#include "weir/store/reservation/reservation_rows.h"

namespace weir {

/// Returns the migrations of a reservations file.
std::span<const Migration> ReservationMigrations();

/// The functions must be called in a transaction of the connection, which must outlive this object.
/// They return kDataLoss if a row is damaged, and kUnavailable for every other failure of the file.
/// Not thread-safe.
class FileReservationRows final : public ReservationRows {
 public:
  explicit FileReservationRows(sqlite::Connection& connection) : connection_(connection) {}

  /// Returns the first failure since the last call of TakeFailure.
  Status TakeFailure() { return std::exchange(failure_, Status()); }

  Result<std::optional<HeldSlot>> FindSlot(const SlotRef& slot) override;
  Result<HeldCount> CountHeld(const AccountKey& key, UnixMillis now) override;
  Result<std::vector<HeldSlot>> ListHeld(const SlotRange& range, UnixMillis now) override;
  Result<std::vector<HeldSlot>> ClaimedAfter(const AccountKey& key, UnixMillis time) override;
  Result<std::vector<HeldSlot>> BoundTo(const std::string& resource_id) override;
  Status PutSlot(const HeldSlot& slot) override;
  Status EraseSlot(const SlotRef& slot) override;
  Status EraseExpired(const AccountKey& key, UnixMillis now) override;

  Result<std::optional<EndedResource>> FindEnded(const std::string& resource_id) override;
  Status PutEnded(const EndedResource& ended) override;

  Result<std::optional<AccountLimitRow>> FindLimit(const AccountKey& key) override;
  Result<std::vector<AccountKey>> LimitKeysOf(const std::string& service) override;
  Status PutLimit(const AccountLimitRow& row) override;
  Status EraseLimit(const AccountKey& key) override;

  Result<std::optional<Bucket>> FindBucket(const AccountKey& key) override;
  Status PutBucket(const AccountKey& key, const Bucket& bucket) override;

  Status Sweep(UnixMillis now) override;

 private:
  using Values = std::initializer_list<std::variant<std::int64_t, std::string_view>>;

  /// Binds `values` in order, and calls `on_row` with each row until it returns an error.
  template <class OnRow>
  Status ForEach(std::string_view sql, Values values, const OnRow& on_row);
  /// Runs a statement that returns no rows.
  Status Run(std::string_view sql, Values values);
  Result<std::vector<HeldSlot>> ReadSlots(std::string_view sql, Values values);
  /// Returns the prepared statement of `sql`, which must be a literal.
  Result<sqlite::Statement*> Prepared(std::string_view sql);
  /// Maps an error with AsStoreError, and stores the first error in failure_.
  Status Note(Status done);

  sqlite::Connection& connection_;
  std::map<std::string_view, sqlite::Statement> prepared_;  // keyed by the SQL text
  BucketReader reader_;
  Status failure_;
};

}  // namespace weir
