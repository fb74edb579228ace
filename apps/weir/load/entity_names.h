// A list of entities in a short text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"

namespace weir::app {

/// A list of names, some of them numbered: `acme`, `acme,bolt`, `user-{1..100000}`, `a-{01..20}-x`.
/// Names are built on demand.
class EntityNames {
 public:
  /// The maximum number of names in one list.
  static constexpr std::uint64_t kMost = 10'000'000;

  /// Returns kInvalidArgument unless each part is a valid entity id with at most one
  /// `{first..last}`, first <= last. If `first` begins with 0, all numbers have its number of
  /// digits.
  [[nodiscard]] static Result<EntityNames> Parse(std::string_view text);

  std::uint64_t size() const { return size_; }
  /// REQUIRES: index < size().
  std::string At(std::uint64_t index) const;

 private:
  struct Part {
    std::string before;
    std::string after;
    std::uint64_t first = 0;
    std::uint64_t count = 1;
    int digits = 0;               ///< 0: no padding; -1: no number
    std::uint64_t begins_at = 0;  ///< the index of the part's first name
  };
  [[nodiscard]] static Result<Part> ParsePart(std::string_view text);
  static std::string NameIn(const Part& part, std::uint64_t offset);

  std::vector<Part> parts_;
  std::uint64_t size_ = 0;
};

}  // namespace weir::app
