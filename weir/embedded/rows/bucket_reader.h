// Decodes the text that weir/embedded/rows/bucket_codec.h encodes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/store/bucket/bucket_store.h"
#include "weir/store/usage/bucket_use.h"

namespace weir {

/// The earliest and the latest time that a bucket can have: the years 1970 to 9999.
inline constexpr UnixMillis kEarliestBucketTime{0};
inline constexpr UnixMillis kLatestBucketTime{253'402'300'799'999};

/// A decoded change. The views are valid during the call of the sink.
struct Change {
  std::string_view entity;
  std::string_view resource;
  std::uint32_t shard = 0;
  std::optional<std::int64_t> time;  ///< nothing if the bucket was removed
  std::string_view limits;           ///< JSON, not checked yet
  std::string_view extras;           ///< JSON, not checked yet; empty if there are none
  std::string_view use;              ///< JSON, not checked yet; empty if there is none
};

/// A change that cannot be decoded.
struct DamagedChange {
  /// The stored text from the change to the end of the row; valid during the call.
  std::string_view rest_of_row;
  std::optional<BucketKey> key;  ///< if it can still be decoded
};

/// Reuses its memory between calls. Not thread-safe.
class BucketReader {
 public:
  BucketReader();
  ~BucketReader();
  BucketReader(BucketReader&&) noexcept;
  BucketReader& operator=(BucketReader&&) noexcept;

  /// Calls `sink` with each change of a row, in order. Returns kDataLoss if the row is damaged;
  /// then `sink` may have got some of its changes.
  [[nodiscard]] Status ReadChanges(std::string_view row,
                                   const std::function<void(const Change&)>& sink);
  /// Reads a row that may be damaged. Each change is on a line of its own, so each unreadable line
  /// is given to `damaged`, and the other changes to `sink`, in order. For a damaged row, `sink`
  /// may first get some changes and then gets all readable ones again, from the beginning.
  void SalvageChanges(std::string_view row, const std::function<void(const Change&)>& sink,
                      const std::function<void(const DamagedChange&)>& damaged);
  /// Appends to names and meters of `record`. Returns kDataLoss if the text cannot be the limits of
  /// a bucket; the names and meters that were appended until then are valid.
  [[nodiscard]] Status ReadLimits(std::string_view limits, BucketRecord& record);
  /// Fills the extras of `record`, which has none. Returns kDataLoss if the text cannot be the
  /// extras of a bucket; the meters that were appended until then are valid.
  [[nodiscard]] Status ReadExtras(std::string_view extras, BucketRecord& record);
  /// Reads the use of a bucket that has `limits` configured limits. Returns kDataLoss if the text
  /// cannot be the use of such a bucket.
  [[nodiscard]] Result<BucketUse> ReadUse(std::string_view text, std::size_t limits);

 private:
  struct State;
  /// Returns the key of a change, if the beginning of the line is readable.
  std::optional<BucketKey> ReadKey(std::string_view line);
  /// Gives the change of one line to `sink`. Returns false if the line is not exactly one change.
  bool ReadLine(std::string_view line, const std::function<void(const Change&)>& sink);

  std::unique_ptr<State> state_;
};

}  // namespace weir
