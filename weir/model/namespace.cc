#include "weir/model/namespace.h"

namespace weir {

std::string_view Name(NamespaceStatus status) {
  switch (status) {
    case NamespaceStatus::kActive:
      return "active";
    case NamespaceStatus::kDeleted:
      return "deleted";
    case NamespaceStatus::kPurging:
      return "purging";
  }
  return "";
}

}  // namespace weir
