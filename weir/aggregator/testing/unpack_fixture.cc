#include "weir/aggregator/testing/unpack_fixture.h"

#include <zlib.h>

namespace weir::dynamo {

std::string Unpack(const std::string& packed) {
  std::string text(1 << 16, '\0');
  z_stream stream{};
  inflateInit2(&stream, 15 + 16);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  const int ended = inflate(&stream, Z_FINISH);
  text.resize(ended == Z_STREAM_END ? stream.total_out : 0);
  inflateEnd(&stream);
  return text;
}

}  // namespace weir::dynamo
