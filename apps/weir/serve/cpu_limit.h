// The number of CPUs that the process may use.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::app {

/// Parses cpu.max of a control group (cgroups v2): "max 100000", or a quota and a period. Returns
/// the quota in whole CPUs, rounded up, or nothing if there is none.
std::optional<std::size_t> ParseCpuMax(std::string_view text);

/// Parses /proc/self/cgroup (cgroups(7)). Returns the path of the group of cgroups v2, the line
/// "0::PATH", and the paths of all groups around it, up to the root, which is empty. A path beyond
/// the root of the namespace ("/../x") is not visible and counts as the root.
std::vector<std::string> ControlGroups(std::string_view text);

/// Returns the number of CPUs of the machine, or the smallest quota of the process's control group
/// and those around it if that is less; at least 1.
std::size_t UsableCpus();

}  // namespace weir::app
