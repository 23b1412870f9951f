/* The program around it: two calls of try_malloc, one of try_sdallocx, none of the others but by a table of
 * pointers. */
#include "prefixed.h"

struct methods {
  void* (*allocate)(void*, size_t);
  void* other;
};
#ifdef WITH_TABLE
struct methods table = {try_realloc, NULL};
struct methods* volatile chosen = &table;
#endif

int main(int argc, char** argv) {
  void* first = try_malloc((size_t)argc);
  void* second = try_malloc(100);
  (void)argv;
#ifdef WITH_TABLE
  second = chosen->allocate(second, 200);
#endif
  try_sdallocx(first, 1, 0);
  return second == NULL;
}
