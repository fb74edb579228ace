#include "apps/weir/serve/file_watch.h"

#include <sys/stat.h>

#include <utility>

namespace weir::app {
namespace {

constexpr nanoseconds kRetryPause = std::chrono::seconds(10);

}  // namespace

FileWatch::FileWatch(std::string path) : path_(std::move(path)), read_(Read()), seen_(read_) {}

FileWatch::Attributes FileWatch::Read() const {
  struct stat found = {};
  if (stat(path_.c_str(), &found) != 0) return {};
  return {.device = found.st_dev,
          .inode = found.st_ino,
          .size = found.st_size,
          .modified = found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec};
}

bool FileWatch::HasChanged(Instant now) {
  const Attributes before = std::exchange(seen_, Read());
  if (seen_ != before) return false;
  if (seen_ == failed_ && now < retry_at_) return false;
  return seen_ != read_;
}

void FileWatch::Acknowledge() {
  read_ = seen_;
  retry_at_ = {};
}

void FileWatch::NoteFailure(Instant now) {
  failed_ = seen_;
  retry_at_ = now + kRetryPause;
}

}  // namespace weir::app
