// Whether this build has a sanitizer: g++ defines a macro, clang 14 has a feature test. For the few places
// where its own allocator, memory or system calls interfere.
#pragma once

#if defined(__has_feature)
#define FATHOM_HAS_FEATURE(name) __has_feature(name)
#else
#define FATHOM_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || FATHOM_HAS_FEATURE(address_sanitizer)
#define FATHOM_ADDRESS_SANITIZER 1
#else
#define FATHOM_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || FATHOM_HAS_FEATURE(thread_sanitizer)
#define FATHOM_THREAD_SANITIZER 1
#else
#define FATHOM_THREAD_SANITIZER 0
#endif
