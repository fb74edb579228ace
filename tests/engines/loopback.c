// Preloaded into a server that has no option for it: "all interfaces" becomes the loopback.
// cc -shared -fPIC -o loopback.so loopback.c
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

typedef int (*Bind)(int, const struct sockaddr*, socklen_t);

int bind(int fd, const struct sockaddr* address, socklen_t size) {
  struct sockaddr_storage copy = {0};
  memcpy(&copy, address, size < sizeof copy ? size : sizeof copy);
  struct sockaddr_in* v4 = (void*)&copy;
  struct sockaddr_in6* v6 = (void*)&copy;
  if (copy.ss_family == AF_INET && v4->sin_addr.s_addr == INADDR_ANY)
    v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (copy.ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr))
    inet_pton(AF_INET6, "::ffff:127.0.0.1", &v6->sin6_addr);
  return ((Bind)dlsym(RTLD_NEXT, "bind"))(fd, (struct sockaddr*)&copy, size);
}
