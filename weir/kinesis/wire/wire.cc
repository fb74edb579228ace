#include "weir/kinesis/wire/wire.h"

#include <fmt/format.h>

#include <utility>

#include "weir/aws/failure.h"
#include "weir/aws/json_response.h"
#include "weir/codec/cbor_writer.h"
#include "weir/codec/sized_text.h"
#include "weir/kinesis/wire/json_writer.h"
#include "weir/kinesis/wire/wire_readers.h"
#include "weir/kinesis/wire/wire_writers.h"

namespace weir::kinesis {
namespace {

template <class Writer>
void WriteEntry(Writer& out, const KinesisRecord& record) {
  out.OpenMap(record.explicit_hash_key ? 3 : 2);
  out.Name("Data");
  out.Bytes(record.data);
  WriteMember(out, "PartitionKey", record.partition_key);
  if (record.explicit_hash_key) WriteMember(out, "ExplicitHashKey", *record.explicit_hash_key);
  out.CloseMap();
}

template <class Writer>
void WriteFirstPage(Writer& out, const StreamAddress& stream) {
  out.OpenMap(3);
  WriteMostShards(out);
  WriteStream(out, stream);
  out.Name("ShardFilter");
  out.OpenMap(1);
  WriteMember(out, "Type", "AT_LATEST");
  out.CloseMap();
  out.CloseMap();
}

// The token identifies the stream: the service refuses it together with a name or an ARN
// (awslabs/amazon-kinesis-producer #481).
template <class Writer>
void WriteNextPage(Writer& out, std::string_view next_token) {
  out.OpenMap(2);
  WriteMostShards(out);
  WriteMember(out, "NextToken", next_token);
  out.CloseMap();
}

/// Returns the text that `write` writes to a writer of the format.
template <class Write>
std::string Body(WireFormat format, const Write& write) {
  return WriteSized([&](auto& sink) {
    if (format == WireFormat::kCbor) {
      CborWriter out(sink);
      write(out);
    } else {
      JsonWriter out(sink);
      write(out);
    }
  });
}

Result<Shard> ParseShard(const ShardText& text) {
  WEIR_ASSIGN_OR_RETURN(const ShardId id, ParseShardId(text.id));
  WEIR_ASSIGN_OR_RETURN(const HashKey first, ParseHashKey(text.first));
  WEIR_ASSIGN_OR_RETURN(const HashKey last, ParseHashKey(text.last));
  return Shard{id, {first, last}};
}

}  // namespace

std::string_view ContentType(WireFormat format) {
  return format == WireFormat::kCbor ? "application/x-amz-cbor-1.1" : "application/x-amz-json-1.1";
}

std::string PutRecordsBody(WireFormat format, const StreamAddress& stream,
                           const std::vector<KinesisRecord>& records) {
  return Body(format, [&](auto& out) {
    out.OpenMap(2);
    WriteStream(out, stream);
    out.Name("Records");
    out.OpenArray(records.size());
    for (const KinesisRecord& record : records) WriteEntry(out, record);
    out.CloseArray();
    out.CloseMap();
  });
}

Result<std::vector<EntryResponse>> ReadPutRecords(WireFormat format, std::string_view body) {
  auto read = format == WireFormat::kCbor ? ReadCborEntries(body) : ReadJsonEntries(body);
  if (!read) return MalformedResponse("PutRecords", read.error().message);
  if (!*read) return MalformedResponse("PutRecords", "it has no Records");
  std::vector<EntryResponse>& entries = **read;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].code.empty() || !entries[i].sequence_number.empty()) continue;
    return MalformedResponse(
        "PutRecords", fmt::format("entry {} has neither a sequence number nor an error code", i));
  }
  return std::move(entries);
}

std::string ListShardsBody(WireFormat format, const StreamAddress& stream,
                           std::string_view next_token) {
  return Body(format, [&](auto& out) {
    if (next_token.empty()) {
      WriteFirstPage(out, stream);
    } else {
      WriteNextPage(out, next_token);
    }
  });
}

Result<ShardPage> ReadListShards(WireFormat format, std::string_view body) {
  auto read = format == WireFormat::kCbor ? ReadCborShards(body) : ReadJsonShards(body);
  if (!read) return MalformedResponse("ListShards", read.error().message);
  if (!read->shards) return MalformedResponse("ListShards", "it has no Shards");
  ShardPage page;
  page.next_token = std::move(read->next_token);
  const std::vector<ShardText>& shards = *read->shards;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto shard = ParseShard(shards[i]);
    if (!shard) {
      return MalformedResponse("ListShards", fmt::format("shard {}: {}", i, shard.error().message));
    }
    page.shards.push_back(*shard);
  }
  return page;
}

}  // namespace weir::kinesis
