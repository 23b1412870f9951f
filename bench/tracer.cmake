# The tracer in this very process: needs neither a target nor a peer, so it is separate from the others.
if(FATHOM_BENCH AND TARGET fathom_tracer_testing)
  foreach(bench tracer_bench tracer_cold_bench)
    add_executable(${bench} ${bench}.cpp)
    target_compile_options(${bench} PRIVATE -O2 -fomit-frame-pointer)
    target_link_libraries(${bench} PRIVATE fathom_tracer_testing)
  endforeach()
endif()
