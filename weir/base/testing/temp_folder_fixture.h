// A folder for the files of one test.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace weir {

/// Creates a new folder, and removes it at the end with its contents. Its name is unique among all
/// tests and all concurrent runs of a test.
class TempFolder {
 public:
  TempFolder() {
    // In memory if possible: some tests sync thousands of times.
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
  /// Returns the path of a file in the folder.
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

}  // namespace weir
