// Reads test data: comma-separated rows under a header line. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace weir {

/// One row; its fields are found by the name of their column. Quoting is not supported.
class CsvRow {
 public:
  explicit CsvRow(std::map<std::string, std::string> fields) : fields_(std::move(fields)) {}
  const std::string& text(const std::string& column) const { return fields_.at(column); }
  std::int64_t number(const std::string& column) const { return std::stoll(fields_.at(column)); }

 private:
  std::map<std::string, std::string> fields_;
};

inline std::vector<std::string> SplitCsvLine(const std::string& line) {
  std::vector<std::string> fields;
  std::stringstream rest(line + ",");
  for (std::string field; std::getline(rest, field, ',');) fields.push_back(field);
  return fields;
}

/// Returns the rows of a file. Lines that begin with # are comments.
inline std::vector<CsvRow> ReadCsv(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::vector<std::string> header;
  std::vector<CsvRow> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const std::vector<std::string> fields = SplitCsvLine(line);
    if (header.empty()) {
      header = fields;
      continue;
    }
    std::map<std::string, std::string> by_name;
    for (std::size_t i = 0; i < header.size(); ++i) by_name[header[i]] = fields.at(i);
    rows.emplace_back(std::move(by_name));
  }
  EXPECT_FALSE(rows.empty()) << path;
  return rows;
}

}  // namespace weir
