// Runs a fuzz target once on files and on all files of folders: the corpus as an ordinary test.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/require.h"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> FilesOf(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

bool Feed(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return false;
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  std::printf("%s\n", file.c_str());
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  // Unbuffered: the last line names the input that aborted.
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  int fed = 0;
  for (int i = 1; i < argc; ++i) {
    for (const fs::path& file : FilesOf(argv[i])) {
      if (!Feed(file)) {
        std::fprintf(stderr, "%s: cannot be read\n", file.c_str());
        return 1;
      }
      ++fed;
    }
  }
  if (fed == 0) {
    std::fprintf(stderr, "no inputs; expected %s FILE_OR_FOLDER...\n", argv[0]);
    return 1;
  }
  return 0;
}
