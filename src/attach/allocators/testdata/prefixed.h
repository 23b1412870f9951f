#include <stddef.h>
void* try_malloc(size_t size);
void* try_mallocx(size_t size, int flags);
void* try_realloc(void* block, size_t size);
void try_sdallocx(void* block, size_t size, int flags);
int try_mallctl(const char* name);
int try_je_inner(int i);
