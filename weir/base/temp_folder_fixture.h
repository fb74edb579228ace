// A folder for the files of one test.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace weir {

/// A new folder, removed at the end with all that is in it. No other test, and no other run of this
/// one at the same time, has the same.
class TempFolder {
 public:
  TempFolder() {
    // In memory where that can be had: some tests sync thousands of times.
    const std::filesystem::path shared = "/dev/shm";
    const auto parent =
        std::filesystem::is_directory(shared) ? shared : std::filesystem::temp_directory_path();
    std::string name = (parent / "weir-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }
  /// The path of a file in it.
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

}  // namespace weir
