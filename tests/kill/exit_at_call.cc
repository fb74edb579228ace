// For LD_PRELOAD: ends the process, as a kill does, before the call with the number EXIT_AT_CALL of
// those that change a file or its name.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kEndedHere = 99;

void Count() {
  static const char* const number = std::getenv("EXIT_AT_CALL");
  static long left = number == nullptr ? 0 : std::atol(number);
  if (left > 0 && --left == 0) _exit(kEndedHere);
}

template <class Call, class... Arguments>
auto Forward(const char* name, Arguments... arguments) {
  Count();
  return reinterpret_cast<Call*>(dlsym(RTLD_NEXT, name))(arguments...);
}

}  // namespace

extern "C" {

int link(const char* from, const char* to) noexcept {
  return Forward<int(const char*, const char*)>("link", from, to);
}
int rename(const char* from, const char* to) noexcept {
  return Forward<int(const char*, const char*)>("rename", from, to);
}
int unlink(const char* path) noexcept { return Forward<int(const char*)>("unlink", path); }
int fsync(int file) { return Forward<int(int)>("fsync", file); }
int fdatasync(int file) { return Forward<int(int)>("fdatasync", file); }
ssize_t pwrite64(int file, const void* data, size_t size, off64_t at) {
  return Forward<ssize_t(int, const void*, size_t, off64_t)>("pwrite64", file, data, size, at);
}
}
