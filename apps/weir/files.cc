#include "apps/weir/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <istream>
#include <limits>
#include <optional>
#include <system_error>

#include "weir/embedded/file/file_names.h"

namespace weir::app {
namespace {

Error FileError(std::string_view verb, const std::string& path, int number) {
  return {number == ENOENT ? Code::kNotFound : Code::kUnavailable,
          fmt::format("cannot {} {}: {}", verb, path, std::strerror(number))};
}

// Returns 0, or the errno.
int WriteTo(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

struct Seen {
  bool exists = false;
  struct stat info = {};
};

Seen StatOf(const std::string& path) {
  Seen seen;
  seen.exists = stat(path.c_str(), &seen.info) == 0;
  return seen;
}

bool IsRegular(const Seen& seen) { return seen.exists && S_ISREG(seen.info.st_mode); }

bool IsSame(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

bool IsOpen(const Seen& seen, int descriptor) {
  struct stat open_file = {};
  return seen.exists && fstat(descriptor, &open_file) == 0 && IsSame(seen.info, open_file);
}

// Returns the target of a chain of links, even if it does not exist.
std::filesystem::path ResolveLinks(std::filesystem::path path) {
  constexpr int kMaxLinks = 40;
  std::error_code problem;
  for (int i = 0; i < kMaxLinks && std::filesystem::is_symlink(path, problem); ++i) {
    path = path.parent_path() / std::filesystem::read_symlink(path, problem);
  }
  return path;
}

// Creates a file with an unused name and stores the name in `name`. Returns its descriptor, or -1.
int CreateIn(const std::filesystem::path& folder, std::string& name) {
  constexpr mode_t kMode = 0666;
  for (int number = 0;; ++number) {
    name = (folder / fmt::format(".weir-{}-{}.new", getpid(), number)).string();
    const int descriptor = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
}

// Closes the descriptor. Returns 0, or the errno.
int WriteAndClose(int descriptor, std::string_view text, const DiskCalls& disk) {
  int failure = WriteTo(descriptor, text);
  if (failure == 0 && disk.sync(descriptor) != 0) failure = errno;
  if (disk.close(descriptor) != 0 && failure == 0) failure = errno;
  return failure;
}

// Accepts that a device or a pipe does not support fsync.
int SyncIfPossible(int descriptor) {
  const bool done = fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS;
  return done ? 0 : -1;
}

// Writes to the existing device, pipe or standard output.
Status WriteInPlace(const std::string& path, const Seen& seen, std::string_view text) {
  const int descriptor = IsOpen(seen, STDOUT_FILENO) ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                                                     : open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const DiskCalls disk = {.sync = SyncIfPossible, .close = close};
  const int failure = descriptor < 0 ? errno : WriteAndClose(descriptor, text, disk);
  return failure == 0 ? Status() : Fail(FileError("write", path, failure));
}

// Writes a new file in the same folder and renames it. Returns 0, or the errno; then nothing is
// changed.
int ReplaceFile(const std::filesystem::path& target, const Seen& seen, std::string_view text,
                const DiskCalls& disk) {
  constexpr mode_t kPermissions = 07777;
  std::string temporary_path;
  const int descriptor = CreateIn(target.parent_path(), temporary_path);
  if (descriptor < 0) return errno;
  if (IsRegular(seen)) fchmod(descriptor, seen.info.st_mode & kPermissions);
  int failure = WriteAndClose(descriptor, text, disk);
  if (failure == 0 && rename(temporary_path.c_str(), target.c_str()) != 0) failure = errno;
  if (failure != 0) unlink(temporary_path.c_str());
  return failure;
}

// Reads to the end. Returns nothing after more than `most` bytes.
std::optional<std::string> ReadAtMost(std::istream& in, std::size_t most) {
  std::string text;
  std::array<char, std::size_t{64} << 10> block{};
  while (in) {
    in.read(block.data(), block.size());
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > most) return std::nullopt;
  }
  return text;
}

}  // namespace

DiskCalls SystemDisk() { return {.sync = fsync, .close = close}; }

Result<std::string> ReadFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return Fail(FileError("read", path, errno));
  std::string text = *ReadAtMost(file, std::numeric_limits<std::size_t>::max());
  std::error_code problem;
  if (file.bad() || std::filesystem::is_directory(path, problem)) {
    return Fail(FileError("read", path, errno == 0 ? EISDIR : errno));
  }
  return text;
}

std::string NameOfInput(const std::string& path) {
  return path == kStandardStream ? "standard input" : path;
}

Result<std::string> ReadFileOrInput(const std::string& path, const ProcessContext& process,
                                    std::size_t most) {
  if (path != kStandardStream) return ReadFile(path);
  const std::optional<std::string> text = ReadAtMost(process.in, most);
  if (!text) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{} has more than {} bytes", NameOfInput(path), most));
  }
  if (process.interrupted()) {
    return Fail(Code::kCancelled, "interrupted before the end of standard input; nothing is done");
  }
  if (process.in.bad()) return Fail(Code::kUnavailable, "cannot read standard input");
  return *text;
}

Status CheckNew(const std::string& path) {
  if (!IsRegular(StatOf(path))) return {};
  return Fail(Code::kAlreadyExists,
              fmt::format("{} exists; --force overwrites it, or name another file", path));
}

bool IsSameFile(const std::string& path, const std::string& other) {
  const Seen one = StatOf(path);
  const Seen two = StatOf(other);
  return IsRegular(one) && IsRegular(two) && IsSame(one.info, two.info);
}

bool IsOpenAs(const std::string& path, int descriptor) {
  const Seen seen = StatOf(path);
  return IsRegular(seen) && IsOpen(seen, descriptor);
}

bool IsInputFile(const std::string& path, const std::string& input, const ProcessContext& process) {
  const bool reads_stdin = input == kStandardStream && process.in_descriptor;
  return reads_stdin ? IsOpenAs(path, *process.in_descriptor) : IsSameFile(path, input);
}

Status WriteFile(const std::string& path, std::string_view text, const DiskCalls& disk) {
  const Seen seen = StatOf(path);
  const bool is_replaced = !seen.exists || S_ISREG(seen.info.st_mode) || S_ISDIR(seen.info.st_mode);
  if (!is_replaced || IsOpen(seen, STDOUT_FILENO)) return WriteInPlace(path, seen, text);
  const std::filesystem::path target = ResolveLinks(path);
  if (const int failure = ReplaceFile(target, seen, text, disk); failure != 0) {
    return Fail(FileError("write", path, failure));
  }
  return SyncFolder(target);
}

}  // namespace weir::app
