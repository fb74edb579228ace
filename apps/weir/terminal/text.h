// The text output of the verbs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/time.h"
#include "weir/model/limit.h"

namespace weir::app {

/// Rows under headings. Columns are as wide as their widest cell and two blanks apart.
class Table {
 public:
  /// A heading that begins with '>' right-aligns its column.
  explicit Table(const std::vector<std::string>& headings);
  /// Adds a row. REQUIRES: as many cells as headings.
  void Row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  /// Returns one line for the headings and one for each row, without trailing blanks.
  std::string Text() const;

 private:
  std::vector<std::string> headings_;
  std::vector<bool> flush_right_;
  std::vector<std::vector<std::string>> rows_;
};

/// Replaces control characters, except newlines, by escapes such as `\x1b`: a name that a user
/// chose must not control a terminal. Bytes that are not UTF-8 are replaced alike.
std::string EscapeControls(std::string_view text);
/// The same, with a blank for each newline: such a name must not forge a line either.
std::string OneLine(std::string text);

/// Returns `2023-11-16T18:15:46.680Z`.
std::string FormatTime(UnixMillis time);

/// Returns seconds with up to three decimals: `0.25s`.
std::string FormatSeconds(milliseconds duration);
/// The same for the wait of a decision: `never` for kNeverAdmitted.
std::string FormatWait(milliseconds wait);

/// Returns the number of milliseconds, rounded down to microseconds: `12.5`.
std::string FormatMillis(nanoseconds time);

/// Returns tokens with exactly three decimals: 1500 millitokens -> "1.500", -1 -> "-0.001".
std::string FormatThousandths(std::int64_t millitokens);

/// Returns limits in the form of ParseLimits: `rpm:100,tpm:10000:15000`, or `-` if there are none.
std::string FormatLimits(const std::vector<Limit>& limits);

}  // namespace weir::app
