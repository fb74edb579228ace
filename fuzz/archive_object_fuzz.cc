// Gunzip and ReadArchivedEvent: objects of an archive, which another program wrote. An object does
// not unpack to more than its bound; an event has a valid id.
#include "fuzz/require.h"
#include "weir/archive/archive_line.h"
#include "weir/codec/gunzip.h"
#include "weir/model/ulid.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMost = 100'000;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto text = weir::Gunzip(bytes, kMost);
  weir::Require(!text || text->size() <= kMost, "the bound holds");
  const auto read = weir::ReadArchivedEvent(text ? std::string_view(*text) : bytes);
  weir::Require(!read || weir::TimeOfUlid(read->event.id).has_value(), "an id is a ULID");
  return 0;
}
