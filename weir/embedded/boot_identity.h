// Which boot of the machine this is: what a time since boot counts from.
#pragma once

#include <string>

namespace weir {

struct BootIdentity {
  std::string boot;            ///< drawn by the kernel at each start; empty: not known
  std::string time_namespace;  ///< clocks differ between these (man 7 time_namespaces)

  friend bool operator==(const BootIdentity&, const BootIdentity&) = default;
};

/// Of this process, from /proc. What cannot be read is empty.
BootIdentity ReadBootIdentity();

/// True if times since boot of both can be compared. An unknown boot is like no other.
bool IsSameBoot(const BootIdentity& a, const BootIdentity& b);

}  // namespace weir
