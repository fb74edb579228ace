// The table `change`, to which commits append, and the fold that moves its contents into the table
// `bucket`. Mechanism: docs/design/embedded.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "weir/embedded/commit/change_index.h"
#include "weir/embedded/file/damage.h"
#include "weir/embedded/file/sqlite.h"
#include "weir/embedded/rows/bucket_codec.h"
#include "weir/embedded/rows/usage_rows.h"
#include "weir/store/bucket/bucket_table.h"

namespace weir {

/// Not thread-safe. The connection must outlive it. A function that changes the file is one
/// transaction, except FoldAll, which makes several. After an error the file is as it was before
/// the failed transaction, and the function may be retried.
///
/// Add, Append ----> rows in `change` -- FoldSome: BeginFold --> folding
///                      ^                                          |
///                      |                    TakeSlice, WriteSlice | until no key is left
///                      |                                          v
///                      +------ no folded row is left ------- DeleteRows
class ChangeLog {
 public:
  /// The size of an append.
  struct Written {
    std::size_t buckets = 0;
    std::size_t bytes = 0;
  };

  [[nodiscard]] static Result<ChangeLog> Open(sqlite::Connection& connection,
                                              UsageLimits limits = {});

  /// Reads the latest change of each bucket in the log. An unreadable change is noted in `damage`.
  /// Call it once, before anything else.
  [[nodiscard]] Result<ChangeIndex> Read(DamageReport& damage);

  /// Collects the present state of a bucket for the next Append; null means that it was removed.
  /// `mark` is stored with the bucket: 0 before the first Add of the bucket, then the value that
  /// the last Add assigned.
  void Add(const BucketKey& key, const BucketState* state, std::uint32_t& mark);
  /// Adds all changes of the table, and ended hours of its buckets (`max_use_buckets` is
  /// UseDrain::most).
  void AddChanges(BucketTable& table, std::size_t max_use_buckets);
  /// Collects hours of a bucket for the next Append, which adds them to usage in the same
  /// transaction as the changes.
  void AddUse(const BucketKey& key, std::vector<HourOfUse> hours);
  /// Writes the collected changes and hours, if there are any. After an error they stay collected.
  /// Usage that has expired at `now` is removed (UsageRows::Trim).
  [[nodiscard]] Result<Written> Append(UnixMillis now = {});
  /// Writes that these buckets were removed, and the writes of `body`, in one transaction.
  [[nodiscard]] Status AppendRemoved(std::span<const BucketKey> keys,
                                     const std::function<Status()>& body);

  /// Returns how often the hours of a bucket were dropped, because the table of usage is damaged.
  std::uint64_t lost_use() const { return lost_use_; }
  /// The rows of usage, which are written with Append.
  UsageRows& usage() { return *usage_; }

  std::size_t bytes() const { return bytes_; }
  bool folding() const { return fold_.has_value(); }
  /// Replaces the table `bucket` by the contents of `table`, and empties the log, in one
  /// transaction.
  [[nodiscard]] Status Rewrite(const BucketTable& table);
  /// Begins to fold the present log, or continues: writes the state that each bucket of the log has
  /// in `table` now, then deletes the folded rows. The file has the same meaning after each step,
  /// and so after a crash too: rows that are still in the log are older than the written states, or
  /// repeat them. The step is proportional to `grown_bytes`, the growth of the log since the last
  /// call, so that the fold ends before the log is two and a half times as long as at its
  /// beginning.
  [[nodiscard]] Status FoldSome(const BucketTable& table, std::size_t grown_bytes);
  /// Folds the whole log and the collected changes, so that both are empty. After it has succeeded,
  /// the file has the present state of every bucket that was added, even if Append has failed.
  [[nodiscard]] Status FoldAll(const BucketTable& table);

 private:
  struct Row {
    std::int64_t seq;
    std::size_t bytes;
  };
  /// A fold in progress: first `keys` and `slice` are written, then the rows up to last_seq are
  /// deleted.
  struct Fold {
    std::vector<BucketKey> keys;   // to be written; a heap with the first in SQLite's order on top
    std::vector<BucketKey> slice;  // taken from `keys`, not yet written
    std::size_t buckets;           // initial size of `keys`
    std::int64_t last_seq;
    std::size_t bytes;  // size of the log when the fold began
  };

  struct UseOfBucket {
    BucketKey key;
    std::vector<HourOfUse> hours;
  };

  explicit ChangeLog(sqlite::Connection& connection) : connection_(&connection) {}
  /// Writes the rows of `batch` and runs `body`, in one transaction. Retries once on a full disk.
  Status Write(const ChangeBatch& batch, const std::function<Status()>& body);
  /// Adds the collected hours to usage. REQUIRES: a transaction.
  Status WriteUse(UnixMillis now);
  /// One attempt of Write.
  Status WriteOnce(std::span<const std::string_view> rows, const std::function<Status()>& body);
  void BeginFold();
  /// Runs the fold in progress, or a new one, to its end.
  Status EndFold(const BucketTable& table);
  /// Moves the first `count` keys of the heap into the slice.
  void TakeSlice(std::size_t count);
  Status WriteSlice(const BucketTable& table);
  /// Writes the present state of a bucket to the table `bucket`, or deletes its row.
  Status WriteBucket(const BucketTable& table, const BucketKey& key);
  /// Deletes folded rows of about this many bytes.
  Status DeleteRows(std::size_t bytes);

  sqlite::Connection* connection_;
  std::optional<sqlite::Statement> insert_, delete_, put_bucket_, delete_bucket_;
  std::optional<UsageRows> usage_;
  ChangeBatch batch_;
  std::vector<UseOfBucket> use_;  // collected for the next Append
  std::uint64_t lost_use_ = 0;
  std::deque<Row> rows_;  // the rows of the table `change`, in order
  std::int64_t next_seq_ = 1;
  std::size_t bytes_ = 0;
  std::optional<Fold> fold_;
  // The buckets of the rows that were added since the last fold began; a bucket may occur twice.
  std::vector<BucketKey> keys_to_fold_;
  std::uint32_t fold_round_ = 1;  // number of folds plus 1; the mark of buckets in keys_to_fold_
};

}  // namespace weir
