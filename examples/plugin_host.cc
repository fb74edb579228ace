// Loads plugin.cc and calls its Admit five times.
//
//   plugin_host PLUGIN
#include <dlfcn.h>

#include <cstdio>

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: plugin_host PLUGIN\n", stderr);
    return 2;
  }
  void* const plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const auto admit = reinterpret_cast<bool (*)(const char*)>(dlsym(plugin, "Admit"));
  if (admit == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  int admitted = 0;
  for (int call = 0; call < 5; ++call) admitted += admit("ann") ? 1 : 0;
  std::printf("%d of 5 admitted\n", admitted);
  return admitted == 3 ? 0 : 1;
}
