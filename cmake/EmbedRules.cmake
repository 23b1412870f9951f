# Texts that are part of the program: FILE.txt becomes NAME, a std::string_view that HEADER declares. The sources are
# added to the list `embedded`.
function(embed_rules file header name)  # and a namespace, if it is another than fathom::analysis
  set(namespace ${ARGN})
  if(NOT namespace)
    set(namespace fathom::analysis)
  endif()
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${file}.cpp)
  set(script ${CMAKE_SOURCE_DIR}/cmake/embed_rules.cmake)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${CMAKE_CURRENT_SOURCE_DIR}/${file}.txt -DOUTPUT=${output} -DHEADER=${header}
            -DNAME=${name} -DNAMESPACE=${namespace} -P ${script}
    DEPENDS ${file}.txt ${script} VERBATIM)
  set(embedded ${embedded} ${output} PARENT_SCOPE)
endfunction()
