// Names as Python exports them.
#include <stdlib.h>

__attribute__((visibility("default"))) void* PyObject_Malloc(size_t size) {
  return malloc(size);
}
__attribute__((visibility("default"))) void PyMem_SetAllocator(int domain, void* allocator) {
  (void)domain;
  (void)allocator;
}
