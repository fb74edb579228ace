#include "apps/weir/lambda/run_function.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "apps/weir/aggregate/other_aggregator.h"
#include "weir/aggregator/daemon/s3_archive.h"
#include "weir/aggregator/lambda/function_settings.h"
#include "weir/aggregator/lambda/invocation_loop.h"
#include "weir/aws/endpoint.h"
#include "weir/aws/http/crt_transport.h"
#include "weir/aws/s3/s3_connection.h"
#include "weir/base/rng.h"
#include "weir/runtime/await.h"
#include "weir/zae_table/connection.h"
#include "weir/zae_table/version.h"

namespace weir::app {
namespace {

constexpr char kRuntimeVariable[] = "AWS_LAMBDA_RUNTIME_API";
constexpr std::string_view kOtherCounts =
    "if an event source mapping invokes zae-limiter's function too, usage is counted twice; remove "
    "that mapping";
// Lambda ends the start of a process after 10 s.
constexpr std::chrono::seconds kStartTime{6};
// An event has at most 6 MB.
constexpr std::size_t kMaxEventBytes = std::size_t{8} << 20;

/// The connection to Lambda's runtime API. Each member needs those above it.
struct RuntimeConnection {
  std::unique_ptr<CrtRuntime> network;
  std::unique_ptr<HttpTransport> transport;
};

Result<RuntimeConnection> ConnectToRuntime(Context& context) {
  const ProcessContext& process = context.process();
  const std::string address = process.environment(kRuntimeVariable).value_or("");
  if (address.empty()) {
    context.failure = Exit::kUsage;
    return Fail(Code::kInvalidArgument,
                fmt::format("{} is not set: AWS Lambda starts this verb, in the package that "
                            "'weir aggregate package' writes",
                            kRuntimeVariable));
  }
  WEIR_ASSIGN_OR_RETURN(const Endpoint endpoint, ParseEndpoint("http://" + address));
  RuntimeConnection connection;
  WEIR_ASSIGN_OR_RETURN(
      connection.network,
      CrtRuntime::Start({.ca_file = process.environment("AWS_CA_BUNDLE").value_or("")}));
  WEIR_ASSIGN_OR_RETURN(connection.transport,
                        MakeTransport(*connection.network, process.clock,
                                      {.host = endpoint.host,
                                       .port = endpoint.port,
                                       .tls = false,
                                       .max_response_bytes = kMaxEventBytes}));
  return connection;
}

/// Each member needs those above it.
struct OpenedFunction {
  std::unique_ptr<dynamo::Connection> table;
  std::unique_ptr<S3Connection> bucket;
  std::unique_ptr<dynamo::S3Archive> archive;
  std::unique_ptr<dynamo::StreamFunction> function;
};

dynamo::FunctionOptions OptionsOf(const dynamo::FunctionSettings& settings) {
  dynamo::FunctionOptions options;
  options.aggregator.windows = settings.windows;
  options.aggregator.retention_days = settings.retention_days;
  options.lease.owner = fmt::format("weir lambda {}", settings.function_name);
  return options;
}

Result<OpenedFunction> OpenFunction(const Context& context) {
  const ProcessContext& process = context.process();
  const HostEnvironment environment = HostEnvironmentOf(process);
  WEIR_ASSIGN_OR_RETURN(const dynamo::FunctionSettings settings,
                        dynamo::ReadFunctionSettings(process.environment));
  OpenedFunction opened;
  WEIR_ASSIGN_OR_RETURN(
      opened.table, dynamo::Connection::Open({.table = settings.table}, process.clock, environment,
                                             &context.log()));
  dynamo::Table& table = opened.table->table();
  WEIR_ASSIGN_OR_RETURN(
      const dynamo::VersionInfo version, Await<dynamo::VersionInfo>([&](auto done) {
        dynamo::OpenCheck(table, Deadline::After(process.clock, kStartTime), std::move(done));
      }));
  WarnOfOtherAggregator(version, kOtherCounts, context.log());
  if (settings.archive_bucket) {
    WEIR_ASSIGN_OR_RETURN(opened.bucket, S3Connection::Open({.bucket = *settings.archive_bucket,
                                                             .log = &context.log()},
                                                            process.clock, environment));
    opened.archive = std::make_unique<dynamo::S3Archive>(opened.bucket->bucket(), "");
  }
  opened.function = std::make_unique<dynamo::StreamFunction>(
      dynamo::FunctionParts{.table = table,
                            .scheduler = opened.table->scheduler(),
                            .log = context.log(),
                            .archive = opened.archive.get()},
      OptionsOf(settings), SystemSeed());
  return opened;
}

}  // namespace

Result<Exit> RunFunction(Context& context) {
  if (context.common().store) {
    context.failure = Exit::kUsage;
    return Fail(Code::kInvalidArgument,
                "--store: the variable TABLE_NAME names the table of the function");
  }
  WEIR_ASSIGN_OR_RETURN(const RuntimeConnection connection, ConnectToRuntime(context));
  const Clock& clock = context.process().clock;
  RuntimeClient runtime(*connection.transport, clock);
  const Result<OpenedFunction> opened = OpenFunction(context);
  if (!opened) {
    // The error of the start is the one to return.
    static_cast<void>(runtime.ReportInitError(opened.error()));
    return Fail(opened.error());
  }
  dynamo::StreamFunction& function = *opened->function;
  Error ended = dynamo::ServeInvocations(
      {.runtime = runtime,
       .clock = clock,
       .log = context.log(),
       .handle = [&](dynamo::StreamInvocation invocation, Done<std::string> done) {
         function.Handle(std::move(invocation), std::move(done));
       }});
  WEIR_RETURN_IF_ERROR(Await<void>([&](Done<void> idle) { function.Stop(std::move(idle)); }));
  return Fail(std::move(ended));
}

}  // namespace weir::app
