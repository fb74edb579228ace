// Answers as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/time.h"
#include "weir/model/limit.h"

namespace weir::app {

/// Rows under headings, columns as wide as their widest cell and two blanks apart. A value.
class Table {
 public:
  /// A heading that begins with '>' sets its column flush right.
  explicit Table(const std::vector<std::string>& headings);
  /// REQUIRES: as many cells as there are headings.
  void Row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  /// One line for the headings and one for each row, without blanks at the ends.
  std::string Text() const;

 private:
  std::vector<std::string> headings_;
  std::vector<bool> flush_right_;
  std::vector<std::vector<std::string>> rows_;
};

/// The text with its control characters, except newlines, as `\\x1b`: a name that a user chose
/// must not control a terminal. Bytes that are not UTF-8 are shown in the same way.
std::string EscapeControls(std::string_view text);

/// `2023-11-16T18:15:46.680Z`.
std::string FormatTime(UnixMillis time);

/// Seconds with up to three decimals: `0.25s`.
std::string FormatSeconds(milliseconds duration);

/// The number of milliseconds in it, down to a microsecond: `12.5`.
std::string FormatMillis(nanoseconds time);

/// Tokens with exactly three decimals: 1500 millitokens -> "1.500", -1 -> "-0.001".
std::string FormatThousandths(std::int64_t millitokens);

/// The limits as ParseLimits reads them: `rpm:100,tpm:10000:15000`; `-` where there are none.
std::string FormatLimits(const std::vector<Limit>& limits);

}  // namespace weir::app
