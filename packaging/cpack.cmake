# The Debian package, made by CPack from a folder that scripts/packages.sh has filled:
#   cpack -G DEB --config packaging/cpack.cmake -D CPACK_PACKAGE_VERSION=X.Y.Z -B OUTPUT_FOLDER      with FATHOM_STAGE=FOLDER in the environment
set(CPACK_INSTALLED_DIRECTORIES "$ENV{FATHOM_STAGE};/")
set(CPACK_CMAKE_GENERATOR Ninja)
set(CPACK_PACKAGE_NAME fathom)
set(CPACK_PACKAGE_VENDOR "fathom developers")
set(CPACK_PACKAGE_CONTACT "fathom developers <root@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "profiler of CPU time, waits and memory of native programs")
set(CPACK_PACKAGE_DESCRIPTION
  "fathom shows where a running Linux process spends CPU time, what it waits for, which thread makes it wait, and what its memory is made of.
 It records programs in C++, C and Rust as they are: optimised, without frame pointers, stripped, already running.
 .
 The program is one static file. It needs no other package.")
set(CPACK_PACKAGING_INSTALL_PREFIX /)
set(CPACK_PACKAGE_FILE_NAME fathom)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS debuginfod)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_COMPRESSION_TYPE gzip)
set(CPACK_STRIP_FILES OFF)
set(CPACK_SET_DESTDIR OFF)
