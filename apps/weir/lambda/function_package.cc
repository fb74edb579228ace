#include "apps/weir/lambda/function_package.h"

#include <fmt/format.h>
#include <link.h>
#include <sys/auxv.h>

#include <algorithm>
#include <utility>

#include "apps/weir/files.h"
#include "apps/weir/lambda/bootstrap_program.h"
#include "apps/weir/lambda/package_layout.h"

namespace weir::app {
namespace {

/// The objects of this process other than the program itself.
struct LoadedObjects {
  std::string loader;
  std::vector<std::string> libraries;
};

int AddObject(dl_phdr_info* object, std::size_t, void* to) {
  LoadedObjects& objects = *static_cast<LoadedObjects*>(to);
  const std::string path = object->dlpi_name;
  // The program has an empty name, and an object of the kernel no path.
  if (!path.contains('/')) return 0;
  if (object->dlpi_addr == getauxval(AT_BASE)) {
    objects.loader = path;
  } else {
    objects.libraries.push_back(path);
  }
  return 0;
}

std::string FileNameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Status AddFile(std::vector<PackageFile>& files, std::string name, const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(std::string content, ReadFile(path));
  files.push_back({.name = std::move(name), .content = std::move(content)});
  return {};
}

Status AddExecutable(std::vector<PackageFile>& files, std::string name, const std::string& path) {
  WEIR_RETURN_IF_ERROR(AddFile(files, std::move(name), path));
  files.back().is_executable = true;
  return {};
}

Status AddAuthorities(std::vector<PackageFile>& files, const std::string& path) {
  Status added = AddFile(files, kAuthoritiesFile, path);
  if (!added) {
    return Fail(added.error().code,
                fmt::format("authorities to trust: {}; --ca-file FILE names others (Debian: the "
                            "package ca-certificates)",
                            added.error().message));
  }
  if (files.back().content.contains("-----BEGIN CERTIFICATE-----")) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("authorities to trust: {}: has no certificate in PEM form", path));
}

}  // namespace

Result<std::vector<PackageFile>> FilesOfFunction(const std::string& authorities) {
  LoadedObjects objects;
  dl_iterate_phdr(AddObject, &objects);
  if (objects.loader.empty()) {
    return Fail(Code::kFailedPrecondition,
                "the loader of this program is not known: start the program directly, not as an "
                "argument of its loader");
  }
  std::vector<PackageFile> files;
  files.push_back(
      {.name = "bootstrap", .content = std::string(BootstrapProgram()), .is_executable = true});
  WEIR_RETURN_IF_ERROR(AddAuthorities(files, authorities));
  WEIR_RETURN_IF_ERROR(AddExecutable(files, kProgramFile, "/proc/self/exe"));
  WEIR_RETURN_IF_ERROR(AddExecutable(files, kLoaderFile, objects.loader));
  for (const std::string& path : objects.libraries) {
    WEIR_RETURN_IF_ERROR(
        AddFile(files, fmt::format("{}/{}", kLibraryFolder, FileNameOf(path)), path));
  }
  std::ranges::sort(files, {}, &PackageFile::name);
  return files;
}

}  // namespace weir::app
