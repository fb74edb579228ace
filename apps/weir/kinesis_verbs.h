// The verbs that put records into a stream of Kinesis and read them back.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "apps/weir/verbs.h"
#include "weir/aws/json_client.h"
#include "weir/kinesis/connection.h"
#include "weir/kinesis/producer_config.h"
#include "weir/kinesis/stream_reader.h"
#include "weir/kinesis/wire.h"
#include "weir/runtime/scheduler.h"

namespace weir::app {

/// Kinesis, or CloudWatch, ready to be called. All of it outlives the work.
struct OpenedKinesis {
  JsonClient& client;
  Scheduler& scheduler;
  std::uint64_t seed;
};

/// Connects to the service of the options, and works with it. Blocks.
using KinesisWork = std::function<Result<Exit>(const OpenedKinesis&)>;
using WithKinesis =
    std::function<Result<Exit>(Context&, const kinesis::ConnectionOptions&, const KinesisWork&)>;

/// Over the network.
Result<Exit> WithKinesisOfRegion(Context& context, const kinesis::ConnectionOptions& options,
                                 const KinesisWork& work);

/// Which stream, and where.
struct StreamOptions {
  kinesis::StreamAddress stream;
  std::string endpoint;  ///< URL; empty: the region's
  std::string region;    ///< empty: that of the stream's ARN, or as AWS's tools find it
};
void AddStream(CLI::App& verb, StreamOptions& options);

/// A usage error if --store is given: the verb would pass it over. `verb`: its last word, and what
/// to write instead, if anything.
[[nodiscard]] Status RefuseStore(Context& context, std::string_view verb);

/// The connection that a producer with these settings wants, but for the content type; what the
/// command line names counts.
kinesis::ConnectionOptions ConnectionFor(const StreamOptions& stream,
                                         const kinesis::ProducerConfig& config);

/// {"shard", "sequence_number", "sub_sequence_number", "partition_key", "data"}, one line. Data
/// that are no UTF-8 are "data_base64" instead.
std::string JsonLineOf(const kinesis::StreamRecord& record);

/// As verbs.h says. `with_kinesis` is called when a verb runs.
void AddKinesis(CLI::App& app, Action& chosen, const WithKinesis& with_kinesis);
void AddKinesisPut(CLI::App& group, Action& chosen, const WithKinesis& with_kinesis);
void AddKinesisCat(CLI::App& group, Action& chosen, const WithKinesis& with_kinesis);

}  // namespace weir::app
