#include "apps/weir/lambda/function_verbs.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "apps/weir/files.h"
#include "apps/weir/lambda/function_package.h"
#include "apps/weir/lambda/run_function.h"
#include "apps/weir/lambda/zip_file.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"

namespace weir::app {
namespace {

struct PackageOptions {
  std::string out;
  std::string authorities = "/etc/ssl/certs/ca-certificates.crt";
  bool force = false;
};

Result<Exit> Package(const PackageOptions& options, Context& context) {
  if (!options.force) WEIR_RETURN_IF_ERROR(CheckNew(options.out));
  WEIR_ASSIGN_OR_RETURN(const std::vector<PackageFile> files, FilesOfFunction(options.authorities));
  WEIR_RETURN_IF_ERROR(WriteZip(options.out, files));
  std::size_t bytes = 0;
  Json names = Json::array();
  for (const PackageFile& file : files) {
    bytes += file.content.size();
    names.push_back(file.name);
  }
  context.WriteResult({{"package", options.out}, {"bytes_unpacked", bytes}, {"files", names}},
                      fmt::format("{}: {} files, {:.1f} MB unpacked", options.out, files.size(),
                                  static_cast<double>(bytes) / 1e6));
  return Exit::kDone;
}

/// Refuses the options of `aggregate` itself, which its verbs would ignore.
void RefuseOptionsOf(const CLI::App& aggregate, const std::string& verb) {
  for (const CLI::Option* option : aggregate.get_options()) {
    if (option->count() == 0) continue;
    throw CLI::ValidationError(option->get_name(),
                               fmt::format("is not an option of 'aggregate {}'; the function is "
                                           "configured by environment variables",
                                           verb));
  }
}

}  // namespace

void AddFunctionVerbs(CLI::App& aggregate, Action& chosen) {
  const auto package = std::make_shared<PackageOptions>();
  CLI::App& pack =
      AddVerb(aggregate, "package", "Write this program as the package of an AWS Lambda function",
              package, chosen, Package);
  pack.add_option("OUT", package->out, "the file to write, for example function.zip")->required();
  pack.add_option(
          "--ca-file", package->authorities,
          "the authorities that the function trusts (default: " + package->authorities + ")")
      ->option_text("FILE");
  pack.add_flag("--force", package->force, "overwrite the file if it exists");
  pack.parse_complete_callback([&aggregate] { RefuseOptionsOf(aggregate, "package"); });
  CLI::App& run = AddVerb(aggregate, "lambda",
                          "Count the events that AWS Lambda delivers; the package starts this verb",
                          std::make_shared<int>(), chosen,
                          [](int, Context& context) { return RunFunction(context); });
  run.parse_complete_callback([&aggregate] { RefuseOptionsOf(aggregate, "lambda"); });
}

}  // namespace weir::app
