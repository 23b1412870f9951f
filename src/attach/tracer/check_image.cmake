# cmake -DREADELF=.. -DOBJECTS=a.o,b.o -DDISTANCES=TYPE,TYPE -DIMAGE=image.elf -P check_image.cmake
#
# The image is right wherever it stands only if nothing in it was fixed up with an address: among the objects' relocations
# only distances are allowed, which the linker resolves permanently, and the linked image has none left and no dependencies.
function(relocations_of file result)
  execute_process(COMMAND ${READELF} -rW ${file} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "R_[A-Z0-9]+_[A-Z0-9_]+" types "${text}")
  list(REMOVE_DUPLICATES types)
  set(${result} ${types} PARENT_SCOPE)
endfunction()

string(REPLACE "," ";" OBJECTS "${OBJECTS}")
string(REPLACE "," ";" DISTANCES "${DISTANCES}")
foreach(object ${OBJECTS})
  relocations_of(${object} types)
  list(REMOVE_ITEM types ${DISTANCES})
  if(types)
    message(FATAL_ERROR "${object}: not position independent: ${types}")
  endif()
endforeach()

relocations_of(${IMAGE} types)
if(types)
  message(FATAL_ERROR "${IMAGE}: relocations are left: ${types}")
endif()
execute_process(COMMAND ${READELF} -sW ${IMAGE} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]* UND +[^ \n]+" undefined "${symbols}")
if(undefined)
  message(FATAL_ERROR "${IMAGE}: undefined: ${undefined}")
endif()
execute_process(COMMAND ${READELF} -SW ${IMAGE} OUTPUT_VARIABLE sections COMMAND_ERROR_IS_FATAL ANY)
if(sections MATCHES "\\.(got|plt|data|bss|tdata|dynamic)")
  message(FATAL_ERROR "${IMAGE}: a section that it must not have: ${sections}")
endif()
