// The first lines of a report, and the number of the others.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weir::dynamo {

/// A value.
class BoundedLines {
 public:
  static constexpr std::size_t kMaxLines = 200;

  void Add(std::string line) {
    if (lines_.size() < kMaxLines) {
      lines_.push_back(std::move(line));
    } else {
      ++omitted_;
    }
  }
  const std::vector<std::string>& lines() const { return lines_; }
  std::uint64_t omitted() const { return omitted_; }
  bool empty() const { return lines_.empty(); }

 private:
  std::vector<std::string> lines_;
  std::uint64_t omitted_ = 0;
};

}  // namespace weir::dynamo
