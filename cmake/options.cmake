# Compiler, warnings, sanitizers and build options: the one place for flags.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

option(KVORUM_TESTS "Build the tests" ON)
option(KVORUM_FAILPOINTS "Compile the failpoints in (never in a release)" OFF)
option(KVORUM_FUZZ "Build the fuzz targets (needs clang with libFuzzer)" OFF)
set(KVORUM_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them: address,undefined or thread")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

if(KVORUM_SANITIZE)
  add_compile_options(-fsanitize=${KVORUM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${KVORUM_SANITIZE})
  if(KVORUM_SANITIZE STREQUAL "thread")
    # The sanitizer does not know fences. Asio's handlers are handed over under locks as well.
    add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()
if(KVORUM_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(KVORUM_FAILPOINTS)
  add_compile_definitions(KVORUM_FAILPOINTS=1)
endif()

# Warnings for our own code only; generated code is compiled without them (proto/CMakeLists.txt).
add_library(kvorum_warnings INTERFACE)
target_compile_options(kvorum_warnings INTERFACE -Wall -Wextra -Wconversion -Werror)
# GCC 12 sees overlaps in `"text" + std::to_string(...)` at -O3 that cannot be (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(kvorum_warnings INTERFACE -Wno-restrict)
endif()

# kvorum_library(<folder> SOURCES ... PUBLIC ... PRIVATE ...): the library of one folder.
function(kvorum_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(kvorum_${name} STATIC ${ARG_SOURCES})
  target_include_directories(kvorum_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_link_libraries(kvorum_${name} PUBLIC ${ARG_PUBLIC}
    PRIVATE ${ARG_PRIVATE} $<BUILD_INTERFACE:kvorum_warnings>)
endfunction()

# kvorum_binary(<name> SOURCES ... LINK ...): a program in build/<preset>/bin.
function(kvorum_binary name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} kvorum_warnings)
endfunction()
