// The program that AWS Lambda starts. It is linked statically, because the package has a loader and
// libraries of its own, and the system may have no shell. It starts the package's program with
// them:
//
//   lib/ld.so --library-path lib weir aggregate lambda
//
// It also sets AWS_CA_BUNDLE to the package's authorities, unless it is set.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "apps/weir/lambda/package_layout.h"

namespace weir::app {
namespace {

/// Returns the folder of the package.
std::string FolderOf(const char* program) {
  const char* root = std::getenv("LAMBDA_TASK_ROOT");
  if (root != nullptr && *root != '\0') return root;
  const std::string path = program == nullptr ? "" : program;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

void PrintFailure(const std::string& loader) {
  const std::string line =
      "bootstrap: " + loader + " cannot be started: " + std::strerror(errno) + "\n";
  // No other output is possible.
  static_cast<void>(write(STDERR_FILENO, line.data(), line.size()) == 0);
}

}  // namespace

int Start(const char* self) {
  const std::string folder = FolderOf(self) + '/';
  setenv("AWS_CA_BUNDLE", (folder + kAuthoritiesFile).c_str(), /*replace=*/0);
  const std::string loader = folder + kLoaderFile;
  const std::string libraries = folder + kLibraryFolder;
  const std::string program = folder + kProgramFile;
  execl(loader.c_str(), loader.c_str(), "--library-path", libraries.c_str(), program.c_str(),
        "--log-level", "info", "--log-format", "json", "aggregate", "lambda",
        static_cast<char*>(nullptr));
  PrintFailure(loader);
  return EXIT_FAILURE;
}

}  // namespace weir::app

int main(int argc, char** argv) { return weir::app::Start(argc > 0 ? argv[0] : nullptr); }
