#include "weir/embedded/file/errno_code.h"

#include <cerrno>

namespace weir {

Code CodeOfErrno(int system_error) {
  switch (system_error) {
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kPermissionDenied;
    case ENOENT:
    case ENOTDIR:
      return Code::kNotFound;
    case ENOSPC:
    case EDQUOT:
      return Code::kResourceExhausted;
    default:
      return Code::kUnavailable;
  }
}

Error AsStoreError(Error error) {
  if (error.code != Code::kDataLoss) error.code = Code::kUnavailable;
  return error;
}

}  // namespace weir
