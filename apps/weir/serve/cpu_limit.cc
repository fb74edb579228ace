#include "apps/weir/serve/cpu_limit.h"

#include <algorithm>
#include <string>
#include <thread>

#include "apps/weir/arguments.h"
#include "apps/weir/files.h"

namespace weir::app {
namespace {

constexpr std::uint64_t kLargest = 1'000'000'000'000;
constexpr std::string_view kSecondVersion = "0::";

}  // namespace

std::optional<std::size_t> ParseCpuMax(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const auto quota = ParseIntegerInRange(text.substr(0, blank), 1, kLargest);
  const auto period = ParseIntegerInRange(text.substr(blank + 1), 1, kLargest);
  if (!quota || !period) return std::nullopt;
  return static_cast<std::size_t>((*quota + *period - 1) / *period);
}

std::vector<std::string> ControlGroups(std::string_view text) {
  std::string path;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with(kSecondVersion)) path = line.substr(kSecondVersion.size());
    at = end + 1;
  }
  if (!path.starts_with('/') || path.starts_with("/..")) path.clear();
  if (path.ends_with('/')) path.pop_back();
  std::vector<std::string> groups = {path};
  while (!groups.back().empty()) {
    groups.push_back(groups.back().substr(0, groups.back().rfind('/')));
  }
  return groups;
}

std::size_t UsableCpus() {
  std::size_t count = std::max(std::thread::hardware_concurrency(), 1U);
  for (const std::string& group : ControlGroups(ReadFile("/proc/self/cgroup").value_or(""))) {
    const auto text = ReadFile("/sys/fs/cgroup" + group + "/cpu.max");
    const auto limit = text ? ParseCpuMax(*text) : std::nullopt;
    if (limit) count = std::min(count, *limit);
  }
  return count;
}

}  // namespace weir::app
