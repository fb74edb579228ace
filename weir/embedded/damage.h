// What does not read in a file: each row is reported, and the others are used.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weir/telemetry/log.h"

namespace weir {

/// Counts damaged rows and keeps the first messages. Each of the first kKept is logged as
/// "file.row_damaged", with the fields file, table and damage. Not thread-safe; the log must
/// outlive it.
class DamageReport {
 public:
  static constexpr std::size_t kKept = 100;

  explicit DamageReport(std::string file = {}, Log& log = NoLog())
      : file_(std::move(file)), log_(&log) {}

  /// `what` names the row, its damage, and the state that holds instead, in one line.
  /// Returns the message, which begins with the table.
  std::string Note(std::string_view table, std::string_view what);

  std::size_t count() const { return count_; }
  const std::vector<std::string>& first() const { return first_; }  ///< at most kKept
  const std::map<std::string, std::size_t, std::less<>>& by_table() const { return by_table_; }
  /// Of one table.
  std::size_t count(std::string_view table) const;

 private:
  std::string file_;
  Log* log_;
  std::size_t count_ = 0;
  std::vector<std::string> first_;
  std::map<std::string, std::size_t, std::less<>> by_table_;
};

/// A backend on a file, which says what of it did not read.
class DamageSource {
 public:
  virtual ~DamageSource() = default;
  /// When the file was opened.
  virtual const DamageReport& damage() const = 0;
};

}  // namespace weir
