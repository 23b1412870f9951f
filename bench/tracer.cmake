# The tracer in this very process: needs neither a target nor a peer, so apart from the others.
if(FATHOM_BENCH AND TARGET fathom_tracer_testing)
  add_executable(tracer_bench tracer_bench.cpp)
  target_compile_options(tracer_bench PRIVATE -O2 -fomit-frame-pointer)
  target_link_libraries(tracer_bench PRIVATE fathom_tracer_testing)
endif()
