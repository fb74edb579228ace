// Identifies the boot of the machine from which a time since boot counts.
#pragma once

#include <string>

#include "weir/base/api.h"

namespace weir {

struct BootIdentity {
  std::string boot;            ///< drawn by the kernel at each start; empty if unknown
  std::string time_namespace;  ///< clocks differ between time namespaces (man 7 time_namespaces)

  friend bool operator==(const BootIdentity&, const BootIdentity&) = default;
};

/// Reads the identity of this process from /proc. A part that cannot be read is empty.
WEIR_API BootIdentity ReadBootIdentity();

/// Returns true if times since boot of both can be compared. An unknown boot equals no other.
WEIR_API bool IsSameBoot(const BootIdentity& a, const BootIdentity& b);

}  // namespace weir
