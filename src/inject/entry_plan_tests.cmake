# What proves the planner: its rules on bytes made by hand, and whole libraries and programs run through its plans.
fathom_test(entry_plan_test SOURCES entry_plan_test.cpp DEPENDS inject)
fathom_test(entry_plan_execution_test SOURCES entry_plan_execution_test.cpp DEPENDS inject allocators)

set(exercise ${CMAKE_CURRENT_SOURCE_DIR}/testdata/exercise_allocator.c)
set(exercise_programs)
function(exercise_program name definition compiler)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/exercise_${name})
  add_custom_command(OUTPUT ${output}
    COMMAND ${compiler} -std=gnu11 -O2 -Wall -fno-builtin -I${CMAKE_SOURCE_DIR}/src ${exercise} -o ${output} ${ARGN}
    DEPENDS ${exercise} VERBATIM)
  target_compile_definitions(entry_plan_execution_test PRIVATE ${definition}="${output}")
  set(exercise_programs ${exercise_programs} ${output} PARENT_SCOPE)
endfunction()
exercise_program(dynamic EXERCISE_DYNAMIC ${CMAKE_C_COMPILER} -ldl)
exercise_program(static EXERCISE_STATIC_PROGRAM ${CMAKE_C_COMPILER} -DEXERCISE_STATIC -static -no-pie)
exercise_program(static_pie EXERCISE_STATIC_PIE_PROGRAM ${CMAKE_C_COMPILER} -DEXERCISE_STATIC -static-pie)
find_program(FATHOM_MUSL_GCC NAMES musl-gcc)
if(FATHOM_MUSL_GCC)
  exercise_program(musl EXERCISE_MUSL_PROGRAM ${FATHOM_MUSL_GCC} -DEXERCISE_STATIC -static)
  exercise_program(musl_dynamic EXERCISE_MUSL_DYNAMIC_PROGRAM ${FATHOM_MUSL_GCC})
endif()
add_custom_target(exercise_programs DEPENDS ${exercise_programs})
add_dependencies(entry_plan_execution_test exercise_programs)
