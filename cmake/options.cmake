# Compiler, warnings, sanitizers and build options: the one place for flags.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

option(KVORUM_TESTS "Build the tests" ON)
option(KVORUM_FUZZ "Build the fuzz targets (needs clang with libFuzzer)" OFF)
option(KVORUM_PRECOMPILE "Precompile the standard library's headers, in tests GoogleTest's, too" OFF)
option(KVORUM_JOIN "Compile the sources of a room together, but for those that are being edited" OFF)
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
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND KVORUM_SANITIZE MATCHES "address")
    # g++'s word for it, which clang 19 does not know yet. Its vptr check asks the kernel for a pipe, and calls what
    # runs without descriptors broken.
    add_compile_definitions(__SANITIZE_ADDRESS__=1)
    add_compile_options(-fno-sanitize=vptr)
  endif()
  if(KVORUM_SANITIZE STREQUAL "thread")
    # The sanitizer does not know fences. Asio's handlers are handed over under locks as well.
    add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()
if(KVORUM_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Warnings for our own code only; generated code is compiled without them (proto/CMakeLists.txt).
add_library(kvorum_warnings INTERFACE)
target_compile_options(kvorum_warnings INTERFACE -Wall -Wextra -Wconversion -Werror)
# GCC 12 sees overlaps in `"text" + std::to_string(...)` at -O3 that cannot be (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(kvorum_warnings INTERFACE -Wno-restrict)
  if(KVORUM_PRECOMPILE)
    # The same of overlong copies; without precompiled headers g++ says nothing inside system headers.
    target_compile_options(kvorum_warnings INTERFACE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
  if(KVORUM_JOIN)
    # It takes a joined source's unnamed namespaces for a header's, and once it inlines across sources it
    # misses that a std::expected without a value has none to destroy. Lint reads sources apart, by clang.
    target_compile_options(kvorum_warnings INTERFACE -Wno-subobject-linkage -Wno-maybe-uninitialized)
    # It stops inlining once a large unit has grown by two fifths, which a joined source has from its first few sources
    # on: a put took 5 % more instructions, a range 3 %. What a function may cost is set where it is read first, so
    # the precompiled headers have this too.
    add_compile_options(--param=large-unit-insns=1000000)
  else()
    # At -O1 it takes the empty string of a test's comparison for one that was not set.
    target_compile_options(kvorum_warnings INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
# libstdc++ 12 deprecates what its own stable_sort calls; only g++ says nothing inside system headers.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(kvorum_warnings INTERFACE -Wno-deprecated-declarations)
endif()

# kvorum_precompiled_headers(<name> HEADERS... [LINK ...]): a target of precompiled headers for those targets
# that kvorum_reuse_headers(<target> <name>) names. clang-tidy reads sources without them
# (scripts/lint), so that a source still has to include what it uses.
if(KVORUM_PRECOMPILE)
  # Headers compiled with other options cannot be reused: one threading model for all.
  add_compile_options(-pthread)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)  # ccache asks for it
    set(KVORUM_PRECOMPILED .gch)
  else()
    set(KVORUM_PRECOMPILED .pch)
  endif()
  execute_process(
    COMMAND dpkg-query -W -f "\${Package} \${Version}\n" libstdc++-12-dev libc6-dev libgtest-dev libgmock-dev
    OUTPUT_VARIABLE KVORUM_HEADER_VERSIONS ERROR_QUIET)
endif()
function(kvorum_precompiled_headers name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  if(NOT KVORUM_PRECOMPILE)
    return()
  endif()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc CONTENT "")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  target_precompile_headers(${name} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
  file(RELATIVE_PATH header ${CMAKE_BINARY_DIR}
    ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx)
  set_target_properties(${name} PROPERTIES KVORUM_HEADER ${header})
  # Its sources, for ccache (CCACHE_PCH_EXTSUM), since its bytes hold the checkout's path. The
  # compiler and its flags are in the digest of each source anyway.
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${header}${KVORUM_PRECOMPILED}.sum
    CONTENT "${ARG_UNPARSED_ARGUMENTS} ${KVORUM_HEADER_VERSIONS}")
endfunction()
# Not by CMake's REUSE_FROM, whose absolute paths make each checkout miss ccache: compilers run in the
# build folder, from which the path is the same everywhere.
function(kvorum_reuse_headers target name)
  if(KVORUM_PRECOMPILE)
    get_target_property(header ${name} KVORUM_HEADER)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE "SHELL:-include ${header}")
    else()
      target_compile_options(${target} PRIVATE "SHELL:-include-pch ${header}.pch")
    endif()
    get_target_property(sources ${target} SOURCES)
    set_property(SOURCE ${sources} APPEND PROPERTY
      OBJECT_DEPENDS ${CMAKE_BINARY_DIR}/${header}${KVORUM_PRECOMPILED})
  endif()
endfunction()

set(KVORUM_STANDARD_HEADERS
  <algorithm> <array> <atomic> <chrono> <cstdint> <deque> <expected> <functional> <map> <memory> <mutex>
  <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>)
kvorum_precompiled_headers(kvorum_standard_headers ${KVORUM_STANDARD_HEADERS})

# kvorum_join(<variable> <name> <bytes> SOURCES...): sets the variable to sources that include those given, up to
# so many bytes of them in one (docs/decisions/0050-minutes.md): what they include is read once. Sources that
# differ from the last commit stay apart: scripts/build lists them in apart.txt. Lint keeps the names of a
# folder's unnamed namespaces unique.
set(KVORUM_JOINED_BYTES 64000)
set(KVORUM_APART)
if(KVORUM_JOIN AND EXISTS ${CMAKE_BINARY_DIR}/apart.txt)
  file(STRINGS ${CMAKE_BINARY_DIR}/apart.txt KVORUM_APART)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_BINARY_DIR}/apart.txt)
endif()
function(kvorum_join variable name bytes)
  if(NOT KVORUM_JOIN)
    set(${variable} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(result)
  set(number 0)
  set(joined)
  set(size 0)
  foreach(source IN ITEMS ${ARGN} "")
    set(more 0)
    if(source)
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE OUTPUT_VARIABLE path)
      cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
      if(path IN_LIST KVORUM_APART)
        list(APPEND result ${source})
        continue()
      endif()
      file(SIZE ${PROJECT_SOURCE_DIR}/${path} more)
    endif()
    math(EXPR sum "${size} + ${more}")
    if(joined AND (sum GREATER bytes OR NOT source))
      math(EXPR number "${number} + 1")
      set(file ${CMAKE_CURRENT_BINARY_DIR}/${name}_joined_${number}.cc)
      file(CONFIGURE OUTPUT ${file} CONTENT "${joined}" @ONLY)
      list(APPEND result ${file})
      set(joined)
      set(sum ${more})
    endif()
    if(source)
      string(APPEND joined "#include \"${path}\"\n")  # the same text in every checkout, for ccache
      set(size ${sum})
    endif()
  endforeach()
  set(${variable} ${result} PARENT_SCOPE)
endfunction()

# kvorum_library(<folder> SOURCES ... PUBLIC ... PRIVATE ...): the library of one folder.
# OBJECTS: not as an archive, so that its users link all of it.
function(kvorum_library name)
  cmake_parse_arguments(ARG "OBJECTS" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  set(kind STATIC)
  if(ARG_OBJECTS)
    set(kind OBJECT)
  endif()
  kvorum_join(sources ${name} ${KVORUM_JOINED_BYTES} ${ARG_SOURCES})
  add_library(kvorum_${name} ${kind} ${sources})
  target_include_directories(kvorum_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_link_libraries(kvorum_${name} PUBLIC ${ARG_PUBLIC}
    PRIVATE ${ARG_PRIVATE} $<BUILD_INTERFACE:kvorum_warnings>)
  kvorum_reuse_headers(kvorum_${name} kvorum_standard_headers)
endfunction()

# kvorum_rooms(<folder> ROOM...): the rooms of a large folder, each the library kvorum_<folder>_<room> of a folder below,
# and kvorum_<folder>, all of them together. KVORUM_ROOMS_OF_<folder> lists the libraries.
function(kvorum_rooms name)
  set(libraries)
  foreach(room IN LISTS ARGN)
    add_subdirectory(${room})
    list(APPEND libraries kvorum_${name}_${room})
  endforeach()
  add_library(kvorum_${name} INTERFACE)
  target_include_directories(kvorum_${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_link_libraries(kvorum_${name} INTERFACE ${libraries})
  set(KVORUM_ROOMS_OF_${name} ${libraries} CACHE INTERNAL "The libraries of ${name}")
endfunction()

# kvorum_binary(<name> SOURCES ... LINK ...): a program in build/<preset>/bin.
function(kvorum_binary name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} kvorum_warnings)
  kvorum_reuse_headers(${name} kvorum_standard_headers)
endfunction()
