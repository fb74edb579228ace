// Tables of files that are refused, for the tests of their readers.
#pragma once

#include <ostream>

namespace weir {

struct RefusedFile {
  const char* name;   ///< of the case
  int line;           ///< that the error names
  const char* what;   ///< is wrong there
  const char* right;  ///< the advice
  const char* text;
};

inline std::ostream& operator<<(std::ostream& out, const RefusedFile& refused) {
  return out << refused.name;
}

}  // namespace weir
