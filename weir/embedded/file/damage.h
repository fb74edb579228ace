// Reports the unreadable rows of a file. The other rows are used.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/api.h"
#include "weir/telemetry/log.h"

namespace weir {

/// Counts damaged rows and keeps the first messages. Logs each of the first kKept as
/// "file.row_damaged", with the fields file, table and damage. Not thread-safe; the log must
/// outlive it.
class WEIR_API DamageReport {
 public:
  static constexpr std::size_t kKept = 100;

  explicit DamageReport(std::string file = {}, Log& log = NoLog())
      : file_(std::move(file)), log_(&log) {}

  /// Notes a damaged row. `what` is one line that names the row, its damage, and the state that is
  /// used instead. Returns the message, which begins with the table.
  std::string Note(std::string_view table, std::string_view what);

  std::size_t count() const { return count_; }
  const std::vector<std::string>& first() const { return first_; }  ///< at most kKept
  const std::map<std::string, std::size_t, std::less<>>& by_table() const { return by_table_; }
  /// Returns the number of damaged rows of one table.
  std::size_t count(std::string_view table) const;

 private:
  std::string file_;
  Log* log_;
  std::size_t count_ = 0;
  std::vector<std::string> first_;
  std::map<std::string, std::size_t, std::less<>> by_table_;
};

/// A backend on a file, which reports the damage that it found in the file.
class WEIR_API DamageSource {
 public:
  virtual ~DamageSource() = default;
  /// Returns the damage found when the file was opened.
  virtual const DamageReport& damage() const = 0;
};

}  // namespace weir
