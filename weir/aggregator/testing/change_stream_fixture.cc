#include "weir/aggregator/testing/change_stream_fixture.h"

#include <functional>

namespace weir::dynamo {

ChangeStream::Shard& ChangeStream::ShardOf(const Item& keys) {
  std::size_t way = std::hash<std::string>()(*GetText(keys, "PK"));
  std::string name = "0";
  for (; shards_.at(name).closed; way /= 2) name += way % 2 == 0 ? 'l' : 'r';
  return shards_.at(name);
}

void ChangeStream::Update() {
  for (; read_ < table_.stream().size(); ++read_) {
    ChangeRecord record = ToChange(table_.stream()[read_]);
    ShardOf(record.keys).records.push_back(std::move(record));
  }
}

void ChangeStream::Split(Rng& rng) {
  Update();
  std::vector<std::string> open;
  for (const auto& [name, shard] : shards_) {
    if (!shard.closed) open.push_back(name);
  }
  const std::string parent = open[rng.Below(open.size())];
  shards_.at(parent).closed = true;
  for (const char* way : {"l", "r"}) shards_[parent + way].parent = parent;
}

}  // namespace weir::dynamo
