// Reads what weir/embedded/bucket_codec.h writes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/store/bucket_store.h"

namespace weir {

/// No bucket has an earlier or a later time: the years 1970 to 9999.
inline constexpr UnixMillis kEarliestBucketTime{0};
inline constexpr UnixMillis kLatestBucketTime{253'402'300'799'999};

/// One change as it is read. The views end with the call that is given it.
struct Change {
  std::string_view entity;
  std::string_view resource;
  std::uint32_t shard = 0;
  std::optional<std::int64_t> time;  ///< none: the bucket was removed
  std::string_view limits;           ///< JSON, not checked yet
  std::string_view extras;           ///< the same; empty if there are none
};

/// A change that does not read.
struct DamagedChange {
  std::string_view line;         ///< as it is stored, and the row behind it; ends with the call
  std::optional<BucketKey> key;  ///< if it still reads
};

/// Keeps its memory between calls. Not thread-safe.
class BucketReader {
 public:
  BucketReader();
  ~BucketReader();
  BucketReader(BucketReader&&) noexcept;
  BucketReader& operator=(BucketReader&&) noexcept;

  /// Gives each change of a row to `sink`, in order. kDataLoss if the row is damaged.
  [[nodiscard]] Status ReadChanges(std::string_view row,
                                   const std::function<void(const Change&)>& sink);
  /// The same for a row that may be damaged: each change is on a line of its own, so a line that
  /// does not read is given to `damaged`, and the others to `sink`, in order. `sink` may be given
  /// changes of such a row before, and is given all of them then.
  void SalvageChanges(std::string_view row, const std::function<void(const Change&)>& sink,
                      const std::function<void(const DamagedChange&)>& damaged);
  /// Fills names and meters. kDataLoss if they cannot be those of a bucket; the names and meters
  /// filled until then are sound.
  [[nodiscard]] Status ReadLimits(std::string_view limits, BucketRecord& record);
  /// Fills extras. kDataLoss if they cannot be those of a bucket.
  [[nodiscard]] Status ReadExtras(std::string_view extras, BucketRecord& record);

 private:
  struct State;
  std::optional<BucketKey> ReadKey(std::string_view line);
  bool ReadLine(std::string_view line, const std::function<void(const Change&)>& sink);

  std::unique_ptr<State> state_;
};

}  // namespace weir
