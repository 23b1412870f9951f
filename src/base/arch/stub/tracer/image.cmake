# Without the hooks, which are assembly, there is no image: its C is compiled, and nothing is embedded.
set(FATHOM_ARCH_TRACER_SOURCES)
set(FATHOM_ARCH_TRACER_OPTIONS)
set(FATHOM_ARCH_DISTANCES)
