// Rows of the tables of invalid files, for the tests of parsers.
#pragma once

#include <ostream>

namespace weir {

struct RefusedFile {
  const char* name;   ///< the name of the test case
  int line;           ///< the line that the error names
  const char* what;   ///< the fault that the error names
  const char* right;  ///< the advice of the error
  const char* text;
};

inline std::ostream& operator<<(std::ostream& out, const RefusedFile& refused) {
  return out << refused.name;
}

}  // namespace weir
