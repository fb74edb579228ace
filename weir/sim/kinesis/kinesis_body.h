// The bodies of Kinesis requests and responses, in JSON 1.1 and in CBOR, as one tree. Blobs are
// binary nodes of the tree in both encodings.
#pragma once

#include <nlohmann/json.hpp>

#include "weir/aws/http/http.h"
#include "weir/sim/dynamodb/dynamo_request.h"

namespace weir::sim {

enum class BodyType { kJson, kCbor };

/// Returns kCbor if the request's content-type is CBOR, else kJson.
BodyType BodyTypeOf(const HttpRequest& request);

/// Parses the body of a request. Throws a Refusal (SerializationException) if the content-type is
/// neither of the two, if the body is not an object, or if a blob is not Base64.
nlohmann::json ReadKinesisBody(const HttpRequest& request);

/// Writes a response. If the tree is null, the response has no body.
HttpResponse WriteKinesisBody(BodyType type, int status, nlohmann::json tree);
HttpResponse WriteKinesisBody(BodyType type, const Refusal& refusal);

}  // namespace weir::sim
