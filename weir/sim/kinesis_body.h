// The bodies of Kinesis requests and answers, in JSON 1.1 and in CBOR, as one tree: blobs are
// binary nodes in it, whichever of the two was spoken.
#pragma once

#include <nlohmann/json.hpp>

#include "weir/aws/http.h"
#include "weir/sim/dynamo_request.h"

namespace weir::sim {

enum class BodyType { kJson, kCbor };

/// By its content-type; JSON for all that is not CBOR.
BodyType BodyTypeOf(const HttpRequest& request);

/// Throws a SerializationException where the content-type is none of the two, the body is no
/// object, or a blob no base64.
nlohmann::json ReadKinesisBody(const HttpRequest& request);

/// A tree that is null has no body.
HttpResponse WriteKinesisBody(BodyType type, int status, nlohmann::json tree);
HttpResponse WriteKinesisBody(BodyType type, const Refusal& refusal);

}  // namespace weir::sim
