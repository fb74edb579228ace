#include "weir/embedded/file/store_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "weir/embedded/file/data_file.h"
#include "weir/embedded/namespace_registry.h"
#include "weir/embedded/reservation/file_reservation_rows.h"
#include "weir/model/namespace_name.h"

namespace weir {
namespace {

bool IsThere(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

// Returns whether the file belongs to another file, whose name is the beginning of its name.
bool IsCompanionFile(const std::string& path) {
  for (const char* const mark :
       {"-wal", "-shm", "-lock", "-journal", "-damaged-", "-repairing", "-repaired"}) {
    const std::size_t at = path.rfind(mark);
    if (at != path.npos && IsThere(path.substr(0, at))) return true;
  }
  return false;
}

// Finds the files of namespaces by their file names, because the registry may be damaged.
std::vector<StoreFile> NamespaceFilesOf(const std::string& path) {
  const std::filesystem::path whole(path);
  const std::string stem = whole.filename().string() + '.';
  const std::filesystem::path folder = whole.has_parent_path() ? whole.parent_path() : ".";
  std::vector<StoreFile> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(stem) || !CheckNamespaceId(name.substr(stem.size()))) continue;
    std::string file = path + '.' + name.substr(stem.size());
    if (!IsCompanionFile(file)) files.push_back({.path = std::move(file)});
  }
  std::ranges::sort(files, {}, &StoreFile::path);
  return files;
}

Result<std::vector<StoreFile>> FileOfNamespace(const std::string& path, const std::string& name) {
  const NamespaceRegistry registry(path, "");
  WEIR_ASSIGN_OR_RETURN(const NamespaceTable table, registry.Load());
  WEIR_ASSIGN_OR_RETURN(const std::string id, table.Resolve(name));
  const std::string file = registry.FileOf(id);
  if (IsThere(file)) return std::vector<StoreFile>{{.path = file}};
  return Fail(Code::kNotFound, fmt::format("sqlite:{}: no such file", file));
}

}  // namespace

std::span<const Migration> StoreFile::migrations() const {
  switch (kind) {
    case Kind::kNamespaces:
      return NamespaceMigrations();
    case Kind::kReservations:
      return ReservationMigrations();
    case Kind::kState:
      break;
  }
  return Migrations();
}

Result<std::vector<StoreFile>> FilesOf(const std::string& name, const std::string& namespace_name) {
  const std::string path = WithoutLink(name);
  if (!namespace_name.empty()) return FileOfNamespace(path, namespace_name);
  std::vector<StoreFile> files = {{.path = path}};
  for (StoreFile& file : NamespaceFilesOf(path)) files.push_back(std::move(file));
  files.push_back({.path = path + "-namespaces", .kind = StoreFile::Kind::kNamespaces});
  files.push_back({.path = path + "-reservations", .kind = StoreFile::Kind::kReservations});
  std::erase_if(files, [](const StoreFile& file) { return !IsThere(file.path); });
  if (files.empty()) return Fail(Code::kNotFound, fmt::format("sqlite:{}: no such file", path));
  return files;
}

}  // namespace weir
