# Needs neither a target nor another profiler.
if(FATHOM_BENCH AND TARGET fathom_model_store)
  add_executable(heap_lives_bench heap_lives_bench.cpp)
  target_link_libraries(heap_lives_bench PRIVATE fathom_model_store benchmark::benchmark)
endif()
