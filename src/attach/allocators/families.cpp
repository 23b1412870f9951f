#include "attach/allocators/families.h"

#include <algorithm>
#include <array>

#include "base/word_rows.h"

namespace fathom::allocators {
namespace {

constexpr FunctionName kCNames[] = {
    {"malloc", TRACER_MALLOC},
    {"calloc", TRACER_CALLOC},
    {"realloc", TRACER_REALLOC},
    {"free", TRACER_FREE},
    {"posix_memalign", TRACER_POSIX},
    {"aligned_alloc", TRACER_ALIGNED},
    {"memalign", TRACER_ALIGNED},
    {"valloc", TRACER_MALLOC},
    {"pvalloc", TRACER_MALLOC},
    {"reallocarray", TRACER_REALLOCARRAY},
    {"reallocf", TRACER_REALLOC},  // BSD
    {"cfree", TRACER_FREE},
    {"free_sized", TRACER_FREE_SIZED},    // C23
    {"free_aligned_sized", TRACER_FREE},  // C23; its size stands behind the alignment
};

constexpr FunctionName kLibcAliases[] = {
    {"__libc_malloc", TRACER_MALLOC},    {"__libc_calloc", TRACER_CALLOC},
    {"__libc_realloc", TRACER_REALLOC},  {"__libc_free", TRACER_FREE},
    {"__libc_cfree", TRACER_FREE},       {"__libc_memalign", TRACER_ALIGNED},
    {"__libc_valloc", TRACER_MALLOC},    {"__libc_pvalloc", TRACER_MALLOC},
    {"__posix_memalign", TRACER_POSIX},  {"__libc_reallocarray", TRACER_REALLOCARRAY},
    {"__aligned_alloc", TRACER_ALIGNED},
};

// sallocx and nallocx only ask. sdallocx_noflags is what operator delete with a size ends in; it has the
// prefix of the library's inner names, which depends on the build.
constexpr FunctionName kJemallocNames[] = {
    {"mallocx", TRACER_MALLOC},
    {"rallocx", TRACER_REALLOC},
    {"xallocx", TRACER_XALLOCX},
    {"dallocx", TRACER_FREE},
    {"sdallocx", TRACER_FREE_SIZED},
    {"sdallocx_noflags", TRACER_FREE_SIZED},
    {"je_sdallocx_noflags", TRACER_FREE_SIZED},
    {"je_je_sdallocx_noflags", TRACER_FREE_SIZED},
};

// Alignments and offsets stand behind the size, so most are of the plain shapes. mi_expand is left out: it
// never changes a block; mi_reallocarr too, which takes the address of the pointer and ends in
// mi_reallocarray; mi_new_realloc and mi_new_reallocn, which throw and end in mi_realloc. mi_heap_*: with the
// heap before all else; mi_heap_destroy, which ends all blocks of a heap at once, is no shape (find.h).
constexpr WordRow<tracer_shape> kMimallocTable[] = {
    {TRACER_MALLOC, "mi_malloc"},
    {TRACER_CALLOC, "mi_calloc"},
    {TRACER_REALLOC, "mi_realloc"},
    {TRACER_FREE, "mi_free"},
    {TRACER_MALLOC, "mi_zalloc"},
    {TRACER_CALLOC, "mi_mallocn"},
    {TRACER_MALLOC, "mi_malloc_small mi_zalloc_small"},
    {TRACER_REALLOC, "mi_reallocf"},
    {TRACER_REALLOCARRAY, "mi_reallocn mi_reallocarray"},
    {TRACER_REALLOC, "mi_rezalloc"},
    {TRACER_REALLOCARRAY, "mi_recalloc"},
    {TRACER_MALLOC, "mi_malloc_aligned mi_malloc_aligned_at mi_zalloc_aligned mi_zalloc_aligned_at"},
    {TRACER_CALLOC, "mi_calloc_aligned mi_calloc_aligned_at"},
    {TRACER_REALLOC, "mi_realloc_aligned mi_realloc_aligned_at mi_rezalloc_aligned mi_rezalloc_aligned_at"},
    {TRACER_REALLOCARRAY,
     "mi_recalloc_aligned mi_recalloc_aligned_at mi_aligned_recalloc mi_aligned_offset_recalloc"},
    {TRACER_POSIX, "mi_posix_memalign"},
    {TRACER_ALIGNED, "mi_aligned_alloc mi_memalign"},
    {TRACER_MALLOC, "mi_valloc mi_pvalloc"},
    {TRACER_FREE, "mi_cfree"},
    {TRACER_FREE_SIZED, "mi_free_size"},
    {TRACER_FREE, "mi_free_aligned"},
    {TRACER_FREE_SIZED, "mi_free_size_aligned"},
    {TRACER_NEW, "mi_new mi_new_aligned"},
    {TRACER_NEW_ARRAY, "mi_new_n"},
    {TRACER_MALLOC, "mi_new_nothrow mi_new_aligned_nothrow"},
    {TRACER_ALIGNED,
     "mi_heap_malloc mi_heap_zalloc mi_heap_malloc_small mi_heap_malloc_aligned "
     "mi_heap_malloc_aligned_at mi_heap_zalloc_aligned mi_heap_zalloc_aligned_at"},
    {TRACER_CALLOC_IN, "mi_heap_calloc mi_heap_mallocn mi_heap_calloc_aligned mi_heap_calloc_aligned_at"},
    {TRACER_REALLOC_IN,
     "mi_heap_realloc mi_heap_reallocf mi_heap_rezalloc mi_heap_realloc_aligned "
     "mi_heap_realloc_aligned_at mi_heap_rezalloc_aligned mi_heap_rezalloc_aligned_at"},
    {TRACER_REALLOCARRAY_IN,
     "mi_heap_reallocn mi_heap_recalloc mi_heap_recalloc_aligned mi_heap_recalloc_aligned_at"},
    {TRACER_NEW_IN, "mi_heap_alloc_new"},
    {TRACER_NEW_ARRAY_IN, "mi_heap_alloc_new_n"},
    {TRACER_FREE, "vfree"},
    {TRACER_ALIGNED, "_aligned_malloc"},  // not in the order of Microsoft's
};
constexpr auto kMimallocNames = each_word<FunctionName, kMimallocTable>();

constexpr WordRow<tracer_shape> kTcmallocTable[] = {
    {TRACER_MALLOC, "tc_malloc tc_malloc_skip_new_handler"},
    {TRACER_CALLOC, "tc_calloc"},
    {TRACER_REALLOC, "tc_realloc"},
    {TRACER_FREE, "tc_free tc_cfree"},
    {TRACER_FREE_SIZED, "tc_free_sized"},
    {TRACER_POSIX, "tc_posix_memalign"},
    {TRACER_ALIGNED, "tc_memalign"},
    {TRACER_MALLOC, "tc_valloc tc_pvalloc"},
    {TRACER_FREE_SIZED, "sdallocx"},
    {TRACER_NEW, "tc_new tc_newarray tc_new_aligned tc_newarray_aligned"},
    {TRACER_MALLOC, "tc_new_nothrow tc_newarray_nothrow tc_new_aligned_nothrow tc_newarray_aligned_nothrow"},
    {TRACER_FREE, "tc_delete tc_deletearray tc_delete_nothrow tc_deletearray_nothrow"},
    {TRACER_FREE_SIZED, "tc_delete_sized tc_deletearray_sized"},
    {TRACER_FREE,
     "tc_delete_aligned tc_deletearray_aligned tc_delete_aligned_nothrow "
     "tc_deletearray_aligned_nothrow"},
    {TRACER_FREE_SIZED, "tc_delete_sized_aligned tc_deletearray_sized_aligned"},
};
constexpr auto kTcmallocNames = each_word<FunctionName, kTcmallocTable>();

// Itanium C++ ABI 5.1.5; the standard's [new.delete].
constexpr OperatorName kOperatorNames[] = {
    {"_Znwm", TRACER_NEW, "_ZnwmRKSt9nothrow_t"},
    {"_Znam", TRACER_NEW, "_ZnamRKSt9nothrow_t"},
    {"_ZnwmSt11align_val_t", TRACER_NEW, "_ZnwmSt11align_val_tRKSt9nothrow_t"},
    {"_ZnamSt11align_val_t", TRACER_NEW, "_ZnamSt11align_val_tRKSt9nothrow_t"},
    {"_ZnwmRKSt9nothrow_t", TRACER_MALLOC, {}},
    {"_ZnamRKSt9nothrow_t", TRACER_MALLOC, {}},
    {"_ZnwmSt11align_val_tRKSt9nothrow_t", TRACER_MALLOC, {}},
    {"_ZnamSt11align_val_tRKSt9nothrow_t", TRACER_MALLOC, {}},
    {"_ZdlPv", TRACER_FREE, {}},
    {"_ZdaPv", TRACER_FREE, {}},
    {"_ZdlPvm", TRACER_FREE_SIZED, {}},
    {"_ZdaPvm", TRACER_FREE_SIZED, {}},
    {"_ZdlPvSt11align_val_t", TRACER_FREE, {}},
    {"_ZdaPvSt11align_val_t", TRACER_FREE, {}},
    {"_ZdlPvmSt11align_val_t", TRACER_FREE_SIZED, {}},
    {"_ZdaPvmSt11align_val_t", TRACER_FREE_SIZED, {}},
    {"_ZdlPvRKSt9nothrow_t", TRACER_FREE, {}},
    {"_ZdaPvRKSt9nothrow_t", TRACER_FREE, {}},
    {"_ZdlPvSt11align_val_tRKSt9nothrow_t", TRACER_FREE, {}},
    {"_ZdaPvSt11align_val_tRKSt9nothrow_t", TRACER_FREE, {}},
};

constexpr std::string_view kJemallocExports[] = {"malloc",  "calloc",  "realloc", "free",    "posix_memalign",
                                                 "mallocx", "rallocx", "xallocx", "dallocx", "sdallocx"};
constexpr std::string_view kMimallocExports[] = {"mi_malloc", "mi_calloc",        "mi_realloc",
                                                 "mi_free",   "mi_free_size",     "mi_free_aligned",
                                                 "mi_zalloc", "mi_malloc_aligned"};
constexpr std::string_view kTcmallocExports[] = {"tc_malloc", "tc_calloc", "tc_realloc", "tc_free",
                                                 "tc_cfree",  "tc_new",    "tc_delete"};

// Names that say whose file this is, without being functions to trace.
constexpr std::string_view kSigns[] = {
    "__libc_start_main", "gnu_get_libc_version", "__libc_malloc_impl",     "_int_malloc", "__libc_mallopt",
    "_rtld_global",      "malloc_consolidate",   "__simple_malloc",        "_dlstart",    "mi_version",
    "tc_version",        "TCMalloc_SystemTaken", "TCMallocInternalMalloc",
};

}  // namespace

std::span<const FunctionName> c_names() {
  return kCNames;
}
std::span<const FunctionName> libc_aliases() {
  return kLibcAliases;
}
std::span<const FunctionName> jemalloc_names() {
  return kJemallocNames;
}
std::span<const FunctionName> mimalloc_names() {
  return kMimallocNames;
}
std::span<const FunctionName> tcmalloc_names() {
  return kTcmallocNames;
}
std::span<const std::string_view> jemalloc_exports() {
  return kJemallocExports;
}
std::span<const std::string_view> mimalloc_exports() {
  return kMimallocExports;
}
std::span<const std::string_view> tcmalloc_exports() {
  return kTcmallocExports;
}
std::span<const OperatorName> operator_names() {
  return kOperatorNames;
}

bool is_interesting(std::string_view name) {
  if (name.size() < 4) return false;
  if (name.starts_with("_Z") || name.starts_with("_R"))
    return name.starts_with("_Znwm") || name.starts_with("_Znam") || name.starts_with("_ZdlPv") ||
           name.starts_with("_ZdaPv");
  if (name.starts_with("mi_") || name.starts_with("tc_")) return true;
  const auto ends_with = [&](std::string_view end) { return name.ends_with(end); };
  if (std::any_of(std::begin(kCNames), std::end(kCNames),
                  [&](const auto& each) { return ends_with(each.name); }))
    return true;
  return ends_with("allocx") || ends_with("allocx_noflags") || ends_with("mallctl") ||
         ends_with("_aligned_malloc") || ends_with("vfree") ||
         std::find(std::begin(kSigns), std::end(kSigns), name) != std::end(kSigns);
}

}  // namespace fathom::allocators
