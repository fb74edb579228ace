#include "weir/embedded/file/data_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "weir/embedded/namespace_registry.h"

namespace weir {

Result<std::string> DataFile(const std::string& path, const std::string& namespace_name,
                             const std::string& vfs) {
  if (namespace_name.empty()) return path;
  const NamespaceRegistry registry(path, vfs);
  WEIR_ASSIGN_OR_RETURN(const NamespaceTable table, registry.Load());
  WEIR_ASSIGN_OR_RETURN(const std::string id, table.Resolve(namespace_name));
  return registry.FileOf(id);
}

std::string WithoutLink(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  return error || real.empty() ? path : real.string();
}

std::string DescribeDataFile(const std::string& path, const std::string& namespace_name) {
  const std::string url = "sqlite:" + path;
  return namespace_name.empty() ? url : url + "?namespace=" + namespace_name;
}

Status CheckRegularFile(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status found = std::filesystem::status(path, error);
  if (!std::filesystem::exists(found) || std::filesystem::is_regular_file(found)) return {};
  return Fail(
      Code::kFailedPrecondition,
      fmt::format("sqlite:{}: not a regular file; give the path of a regular file, or a path at "
                  "which there is no file",
                  path));
}

}  // namespace weir
