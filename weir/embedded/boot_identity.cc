#include "weir/embedded/boot_identity.h"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace weir {

BootIdentity ReadBootIdentity() {
  BootIdentity identity;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> identity.boot;
  std::error_code error;  // older kernels have no time namespaces: then all clocks are the same
  identity.time_namespace = std::filesystem::read_symlink("/proc/self/ns/time", error).string();
  return identity;
}

bool IsSameBoot(const BootIdentity& a, const BootIdentity& b) { return !a.boot.empty() && a == b; }

}  // namespace weir
