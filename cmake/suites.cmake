# cmake -D PROGRAM=... -D FILE=... -D PREFIX=... -D LABEL=... -D TIMEOUT=... -D SERIAL=... -P suites.cmake
#
# Writes FILE with one ctest test for each suite of a GoogleTest program. A suite with parameters becomes one
# test for every four of its cases, for those are the long ones. Instrumented programs take 45 ms of CPU to
# start and to look for leaks, 190 s for all cases one by one.
set(AT_ONCE 4)
math(EXPR TIMEOUT "${TIMEOUT} * 2")  # that of a case

execute_process(COMMAND ${PROGRAM} --gtest_list_tests
  OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY TIMEOUT 60)
# Behind "#" stand types and values, with any characters.
string(REGEX REPLACE "[ \t]*#[^\n]*" "" listed "${listed}")
string(REPLACE "\n" ";" lines "${listed}")

set(content "")
set(suite "")
set(cases "")
set(part 0)

function(add_one name filter)
  string(APPEND content
    "add_test([==[${PREFIX}${name}]==] [==[${PROGRAM}]==] [==[--gtest_filter=${filter}]==])\n"
    "set_tests_properties([==[${PREFIX}${name}]==] PROPERTIES LABELS ${LABEL} TIMEOUT ${TIMEOUT} RUN_SERIAL ${SERIAL}\n"
    "  FAIL_REGULAR_EXPRESSION [==[Running 0 tests]==])\n")
  set(content "${content}" PARENT_SCOPE)
endfunction()

macro(end_cases)
  if(cases)
    list(JOIN cases ":" filter)
    math(EXPR part "${part} + 1")
    add_one("${suite}${part}" "${filter}")
    set(cases "")
  endif()
endmacro()

foreach(line IN LISTS lines)
  if(line MATCHES "^([^ ]+\\.)$")
    end_cases()
    set(suite ${CMAKE_MATCH_1})
    set(part 0)
    if(NOT suite MATCHES "/")
      string(REGEX REPLACE "\\.$" "" name "${suite}")
      add_one("${name}" "${suite}*")
    endif()
  elseif(suite MATCHES "/" AND line MATCHES "^  ([^ ]+)$")  # the last match is the one that counts
    list(APPEND cases "${suite}${CMAKE_MATCH_1}")
    list(LENGTH cases count)
    if(count EQUAL AT_ONCE)
      end_cases()
    endif()
  endif()
endforeach()
end_cases()
file(WRITE ${FILE} "${content}")
