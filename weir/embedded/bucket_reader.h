// Reads what weir/embedded/bucket_codec.h writes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "weir/base/result.h"
#include "weir/store/bucket_store.h"

namespace weir {

/// One change as it is read. The views end with the call that is given it.
struct Change {
  std::string_view entity;
  std::string_view resource;
  std::uint32_t shard = 0;
  std::optional<std::int64_t> time;  ///< none: the bucket was removed
  std::string_view limits;           ///< JSON, not checked yet
  std::string_view extras;           ///< the same; empty if there are none
};

/// Keeps its memory between calls. Not thread-safe.
class BucketReader {
 public:
  BucketReader();
  ~BucketReader();
  BucketReader(BucketReader&&) noexcept;
  BucketReader& operator=(BucketReader&&) noexcept;

  /// Gives each change of a row to `sink`, in order. kDataLoss where the row is damaged.
  [[nodiscard]] Status ReadChanges(std::string_view row,
                                   const std::function<void(const Change&)>& sink);
  /// Fills names and meters. kDataLoss if they cannot be those of a bucket.
  [[nodiscard]] Status ReadLimits(std::string_view limits, BucketRecord& record);
  /// Fills extras. kDataLoss if they cannot be those of a bucket.
  [[nodiscard]] Status ReadExtras(std::string_view extras, BucketRecord& record);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weir
