#include "apps/weir/lambda/zip_file.h"

#include <fmt/format.h>
#include <minizip/zip.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "apps/weir/files.h"

namespace weir::app {
namespace {

constexpr std::uint32_t kFirstDate = (1U << 21) | (1U << 16);  // 1980-01-01, in MS-DOS's form
constexpr std::uint32_t kRegularFile = 0100000;
constexpr int kMemoryLevel = 8;
constexpr unsigned long kMadeByUnix = (3U << 8) | 20U;  // so that the mode is one of Unix

tl::unexpected<Error> CannotWrite(const std::string& path, std::string_view cause) {
  return Fail(Code::kUnavailable, fmt::format("{}: cannot be written: {}", path, cause));
}

bool AddEntry(zipFile zip, const PackageFile& file) {
  zip_fileinfo info = {};
  info.dosDate = kFirstDate;
  info.external_fa = (kRegularFile | (file.is_executable ? 0755U : 0644U)) << 16U;
  const bool is_open = zipOpenNewFileInZip4_64(
                           zip, file.name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr,
                           Z_DEFLATED, Z_BEST_COMPRESSION, /*raw=*/0, -MAX_WBITS, kMemoryLevel,
                           Z_DEFAULT_STRATEGY, nullptr, 0, kMadeByUnix, 0, /*zip64=*/0) == ZIP_OK;
  if (!is_open) return false;
  const bool is_written = zipWriteInFileInZip(zip, file.content.data(),
                                              static_cast<unsigned>(file.content.size())) == ZIP_OK;
  return zipCloseFileInZip(zip) == ZIP_OK && is_written;
}

bool WriteAll(const std::string& path, std::span<const PackageFile> files) {
  const zipFile zip = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  if (zip == nullptr) return false;
  bool is_written = true;
  for (const PackageFile& file : files) is_written = is_written && AddEntry(zip, file);
  return zipClose(zip, nullptr) == ZIP_OK && is_written;
}

}  // namespace

// minizip writes only to a path: that of a temporary file. WriteFile then replaces `path`
// atomically.
Status WriteZip(const std::string& path, std::span<const PackageFile> files) {
  std::string scratch = std::filesystem::temp_directory_path() / "weir-package-XXXXXX";
  errno = 0;
  const int descriptor = mkstemp(scratch.data());
  if (descriptor < 0) return CannotWrite(scratch, std::strerror(errno));
  close(descriptor);
  const bool is_complete = WriteAll(scratch, files);
  const int cause = errno;
  Result<std::string> zip = ReadFile(scratch);
  unlink(scratch.c_str());
  if (!is_complete) {
    return CannotWrite(scratch, cause == 0 ? "no file could be added" : std::strerror(cause));
  }
  return zip.and_then([&](const std::string& text) { return WriteFile(path, text); });
}

}  // namespace weir::app
