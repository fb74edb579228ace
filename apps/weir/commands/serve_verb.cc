// weir serve: the rate limit services of Envoy and Kuadrant.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/weir/arguments.h"
#include "apps/weir/files.h"
#include "apps/weir/limits/limits_scope.h"
#include "apps/weir/options.h"
#include "apps/weir/serve/process_setup.h"
#include "apps/weir/serve/serve_options.h"
#include "apps/weir/serve/serve_run.h"
#include "apps/weir/serve/service_options.h"
#include "apps/weir/terminal/json.h"
#include "weir/backends/open.h"
#include "weir/model/limits_file.h"
#include "weir/model/namespace_name.h"
#include "weir/transport/options_check.h"

namespace weir::app {
namespace {

struct ServeVerbOptions {
  ServeTexts texts;    ///< of the command line
  std::string config;  ///< the file with more of them
  bool check = false;
};

// An option of the command line replaces that of the file.
Result<ServeOptions> ReadOptions(const ServeVerbOptions& given) {
  ServeTexts texts;
  if (!given.config.empty()) {
    const Status is_file = CheckServeFile(given.config);
    if (!is_file) return Fail(is_file.error().code, "--config: " + is_file.error().message);
    WEIR_ASSIGN_OR_RETURN(const std::string text, ReadFile(given.config));
    WEIR_ASSIGN_OR_RETURN(texts, ParseServeFile(text, given.config));
  }
  for (const auto& [name, text] : given.texts) texts.insert_or_assign(name, text);
  return MakeServeOptions(texts);
}

// Checks the form of the URL without opening a file or a table. For other URLs OpenBackend, which
// knows the schemes, opens a store in memory or returns an error.
Status CheckStoreUrl(const std::string& url, const ProcessContext& process) {
  if (url.starts_with("sqlite:") || url.starts_with("dynamodb:")) {
    const auto name = NameOfStore(url, process);
    return name ? Status() : Fail(name.error());
  }
  const auto opened = OpenBackend(url, process.clock, BackendOptions());
  return opened ? Status() : Fail(opened.error());
}

Result<std::string> UrlOfStore(const ServeOptions& options, Context& context) {
  std::optional<std::string> named = context.common().store;
  if (!named && !options.store.empty()) named = options.store;
  WEIR_ASSIGN_OR_RETURN(StoreChoice choice, ChooseStore(context.process(), named));
  const Status checked = CheckStoreUrl(choice.url, context.process());
  if (checked) return std::move(choice.url);
  context.failure = Exit::kUsage;
  return Fail(checked.error());
}

// The name that belongs to a namespace's id is known only to the store.
Status CheckLimits(const ServeOptions& options, const std::string& url, Context& context) {
  if (options.limits.empty()) return {};
  WEIR_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.limits));
  WEIR_ASSIGN_OR_RETURN(const LimitsFile limits, ParseLimitsFile(text, options.limits));
  WEIR_ASSIGN_OR_RETURN(const StoreName name, NameOfStore(url, context.process()));
  if (ParseIdReference(name.namespace_name)) return {};
  return CheckScope(limits, options.limits, {name.store, name.namespace_name});
}

Status CheckListeners(const ServeOptions& options, const ProcessContext& process,
                      Status (*check)(const transport::ServerOptions&)) {
  WEIR_ASSIGN_OR_RETURN(const auto server, ServiceOptionsOf(options, process, DescriptorLimit()));
  WEIR_RETURN_IF_ERROR(check(server.grpc));
  return check(server.admin);
}

// The system's message for one address twice would blame another process.
Status CheckDistinctListeners(const ServeOptions& options) {
  std::vector<std::string> all = options.grpc;
  all.insert(all.end(), options.admin.begin(), options.admin.end());
  Status distinct = transport::CheckDistinct(all);
  if (distinct) return distinct;
  return Fail(
      distinct.error().code,
      fmt::format(
          "{} (grpc is {}, admin is {})", distinct.error().message, fmt::join(options.grpc, ","),
          options.admin.empty() ? "off" : fmt::format("{}", fmt::join(options.admin, ","))));
}

// The files of TLS are read when the service listens: a pipe can be read only once.
Status CheckListenAddresses(const ServeOptions& options, Context& context) {
  Status checked = CheckListeners(options, context.process(), transport::CheckAddresses);
  if (checked) checked = CheckDistinctListeners(options);
  if (!checked) context.failure = Exit::kUsage;
  return checked;
}

Result<Exit> CheckOnly(const ServeOptions& options, Context& context) {
  WEIR_ASSIGN_OR_RETURN(const rules::RuleSet rules, ReadRules(options));
  const auto tokens = ReadTokens(options);
  if (!tokens) return Fail(tokens.error());
  WEIR_RETURN_IF_ERROR(CheckListenAddresses(options, context));
  WEIR_RETURN_IF_ERROR(CheckListeners(options, context.process(), transport::CheckServerOptions));
  WEIR_ASSIGN_OR_RETURN(const std::string url, UrlOfStore(options, context));
  WEIR_RETURN_IF_ERROR(CheckLimits(options, url, context));
  context.WriteResult(
      {{"rules", rules.rules().size()}},
      fmt::format("the options are valid; {}\n", CountOfRules(rules.rules().size())));
  return Exit::kDone;
}

Result<Exit> Serve(const ServeVerbOptions& given, Context& context) {
  const auto options = ReadOptions(given);
  if (!options) {
    context.failure = Exit::kUsage;
    return Fail(options.error());
  }
  if (given.check) return CheckOnly(*options, context);
  WEIR_RETURN_IF_ERROR(PrepareServiceProcess());
  // Before a store is opened, and possibly created.
  WEIR_RETURN_IF_ERROR(CheckListenAddresses(*options, context));
  const auto run = [&](Context& of_store) {
    return of_store.WithBackend(
        Access::kWrite, [&](Backend& backend) { return RunService(*options, of_store, backend); });
  };
  if (options->store.empty() || context.common().store) return run(context);
  // The store of the file is that of the command line from here on.
  CommonOptions common = context.common();
  common.store = options->store;
  Context of_file(context.process(), common);
  Result<Exit> end = run(of_file);
  context.failure = of_file.failure;
  return end;
}

}  // namespace

void AddServe(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ServeVerbOptions>();
  CLI::App& verb = AddVerb(app, "serve", "Serve rate limits to Envoy and others, by gRPC", options,
                           chosen, Serve);
  for (const ServeSetting& setting : ServeSettings()) {
    const std::string name(setting.name);
    std::string help(setting.help);
    if (!setting.by_default.empty() && !setting.value.empty()) {
      help += fmt::format(" (default: {})", setting.by_default);
    }
    const auto read = [options, name](const std::string& text) { options->texts[name] = text; };
    if (setting.value.empty()) {
      verb.add_flag_callback("--" + name, [read] { read("true"); }, help);
    } else {
      verb.add_option_function<std::string>("--" + name, read, help)
          ->option_text(std::string(setting.value));
    }
  }
  verb.add_option("--config", options->config,
                  "a YAML file with these options by their names, and store (no other options of "
                  "all verbs); the command line has precedence")
      ->option_text("FILE");
  verb.add_flag(
      "--check", options->check,
      "only check the options, the files that they name, and the form of the store's URL");
  verb.footer(
      "SIGHUP reads the rules, the tokens and the files of TLS again. The rules and the\n"
      "tokens are also read again when their files change.\n"
      "SIGTERM and SIGINT end the service: it reports NOT_SERVING, serves the requests\n"
      "that are in progress, and closes the store. A second signal ends it at once.\n"
      "Exit codes: 0 stopped by one signal, 1 failed, 2 bad usage, 128 + N ended by a second\n"
      "signal N.");
}

}  // namespace weir::app
