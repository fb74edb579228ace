// Common parts of request bodies, for a JsonWriter or a CborWriter.
#pragma once

#include <string_view>

#include "weir/kinesis/wire/wire.h"

namespace weir::kinesis {

template <class Writer>
void WriteMember(Writer& out, std::string_view name, std::string_view text) {
  out.Name(name);
  out.Text(text);
}

/// Writes the member that names the stream.
template <class Writer>
void WriteStream(Writer& out, const StreamAddress& stream) {
  if (stream.arn.empty()) {
    WriteMember(out, "StreamName", stream.name);
  } else {
    WriteMember(out, "StreamARN", stream.arn);
  }
}

/// Writes the largest page size of a listing that the service allows.
template <class Writer>
void WriteMostShards(Writer& out) {
  out.Name("MaxResults");
  out.Number(1000);
}

}  // namespace weir::kinesis
