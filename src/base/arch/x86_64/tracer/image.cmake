# How the tracer is built for x86-64: what its code may use, and which relocations are distances.
set(FATHOM_ARCH_TRACER_SOURCES ${FATHOM_ARCH_FOLDER}/tracer/hooks.S)
set(FATHOM_ARCH_TRACER_OPTIONS -mgeneral-regs-only -fcf-protection=none)
set(FATHOM_ARCH_DISTANCES R_X86_64_PC32 R_X86_64_PLT32)
