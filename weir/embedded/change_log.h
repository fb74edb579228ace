// The table `change`: what commits append, and how it is folded into the table `bucket`.
// docs/design/embedded.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "weir/embedded/bucket_codec.h"
#include "weir/embedded/change_index.h"
#include "weir/embedded/damage.h"
#include "weir/embedded/sqlite.h"
#include "weir/store/bucket_table.h"

namespace weir {

/// Not thread-safe. The connection must outlive it. Each verb is one transaction, or leaves the
/// file as it was; after an error it may be tried again.
class ChangeLog {
 public:
  /// What an append wrote.
  struct Written {
    std::size_t buckets = 0;
    std::size_t bytes = 0;
  };

  [[nodiscard]] static Result<ChangeLog> Open(sqlite::Connection& connection);

  /// The latest change of each bucket in the log. What does not read is noted in `damage`. Call it
  /// once, before anything else.
  [[nodiscard]] Result<ChangeIndex> Read(DamageReport& damage);

  /// Gathers a bucket's present state for the next Append; null: it was removed. `mark` is what the
  /// last Add for it left there; 0 if there was none.
  void Add(const BucketKey& key, const BucketState* state, std::uint32_t& mark);
  /// Writes what was gathered; nothing if there is nothing. After an error that stays gathered.
  [[nodiscard]] Result<Written> Append();
  /// Writes that these buckets were removed, and what `body` writes, in one transaction.
  [[nodiscard]] Status AppendRemoved(std::span<const BucketKey> keys,
                                     const std::function<Status()>& body);

  std::size_t bytes() const { return bytes_; }
  bool folding() const { return fold_.has_value(); }
  /// Makes the table `bucket` what `table` is, and the log empty, in one transaction.
  [[nodiscard]] Status Rewrite(const BucketTable& table);
  /// Begins to fold what is in the log now, or goes on with it: writes the state that each of its
  /// buckets has in `table`, then deletes the rows. After each step, and so after a crash too, the
  /// file says the same: rows that are still there come before what was written, or repeat it.
  /// Goes as far as keeps pace with a log that grew by `grown_bytes` since the last call, so that
  /// the end is reached before the log is two and a half times as long.
  [[nodiscard]] Status FoldSome(const BucketTable& table, std::size_t grown_bytes);

 private:
  struct Row {
    std::int64_t seq;
    std::size_t bytes;
  };
  struct Fold {
    std::vector<BucketKey> keys;   // a heap, the first in SQLite's order on top
    std::vector<BucketKey> slice;  // taken from it, not written yet
    std::size_t buckets;           // in all
    std::int64_t last_seq;
    std::size_t bytes;  // in all
  };

  explicit ChangeLog(sqlite::Connection& connection) : connection_(&connection) {}
  Status Write(const ChangeBatch& batch, const std::function<Status()>& body);
  Status WriteOnce(std::span<const std::string_view> rows, const std::function<Status()>& body);
  void BeginFold();
  void TakeSlice(std::size_t count);
  Status WriteSlice(const BucketTable& table);
  Status WriteBucket(const BucketTable& table, const BucketKey& key);
  Status DeleteRows(std::size_t bytes);

  sqlite::Connection* connection_;
  std::optional<sqlite::Statement> insert_, delete_, put_bucket_, delete_bucket_;
  ChangeBatch batch_;
  std::deque<Row> rows_;  // in the table
  std::int64_t next_seq_ = 1;
  std::size_t bytes_ = 0;
  std::optional<Fold> fold_;
  // The buckets in the rows that came after the last fold began; some twice.
  std::vector<BucketKey> logged_;
  std::uint32_t round_ = 1;  // of folding; the mark of a bucket that is in logged_
};

}  // namespace weir
