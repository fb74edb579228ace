#include "weir/store/listing.h"

#include "weir/model/identifier.h"

namespace weir {

tl::unexpected<Error> BadCursor() {
  return Fail(Code::kInvalidArgument,
              "page cursor does not belong to this listing; begin with an empty one, continue with "
              "`next`");
}

Result<std::string> ReadEntityCursor(const PageRequest& page, char listing) {
  WEIR_RETURN_IF_ERROR(CheckLimit(page));
  if (page.cursor.empty()) return std::string();
  std::string id = page.cursor.substr(1);
  if (page.cursor[0] != listing || !CheckEntityId(id)) return BadCursor();
  return id;
}

}  // namespace weir
