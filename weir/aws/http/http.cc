#include "weir/aws/http/http.h"

#include <algorithm>

namespace weir {

const std::string* HttpResponse::Header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &HttpHeader::name);
  return found == headers.end() ? nullptr : &found->value;
}

}  // namespace weir
