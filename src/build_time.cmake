# What makes our own builds quick, and is nothing to whoever uses the library: precompiled headers of Asio, fmt, Boost.Test
# and the standard library. Each file includes what it uses, and compiles without them too (CMAKE_DISABLE_PRECOMPILE_HEADERS).

if(REDLOCK_COMPILED_ASIO)
    add_compile_definitions(BOOST_ASIO_SEPARATE_COMPILATION)
    file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/asio.cpp
        CONTENT "#include <boost/asio/impl/src.hpp>\n#include <boost/asio/ssl/impl/src.hpp>\n")
    add_library(redlock_asio STATIC ${CMAKE_CURRENT_BINARY_DIR}/asio.cpp)
    target_compile_features(redlock_asio PRIVATE cxx_std_20)
    target_link_libraries(redlock_asio PUBLIC Boost::headers Threads::Threads OpenSSL::SSL)
endif()

# One set of headers, for all targets with the same flags; a compiler takes it only where the same macros are defined, too.
function(redlock_make_headers name)  # FLAGS DEFINITIONS HEADER…
    if(NOT PROJECT_IS_TOP_LEVEL)
        return()
    endif()
    list(POP_FRONT ARGN flags definitions)
    file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp CONTENT "// Nothing but the headers.\n")
    add_library(${name} OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
    target_compile_features(${name} PRIVATE cxx_std_20)
    target_link_libraries(${name} PRIVATE Boost::headers Threads::Threads ${REDLOCK_FMT} redlock_warnings)
    target_precompile_headers(${name} PRIVATE ${ARGN})
    set(flags "${flags}" $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # the latter for ccache
    list(APPEND definitions $<TARGET_PROPERTY:${REDLOCK_FMT},INTERFACE_COMPILE_DEFINITIONS>)
    set_target_properties(${name} PROPERTIES REDLOCK_FLAGS "${flags}" REDLOCK_DEFINITIONS "${definitions}")
    redlock_set_flags(${name} ${name})
endfunction()

function(redlock_set_flags target headers)
    get_target_property(flags ${headers} REDLOCK_FLAGS)
    get_target_property(definitions ${headers} REDLOCK_DEFINITIONS)
    target_compile_options(${target} PRIVATE ${flags})
    target_compile_definitions(${target} PRIVATE ${definitions})
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# The target uses these headers, and has their flags.
function(redlock_precompile target headers)
    if(PROJECT_IS_TOP_LEVEL)
        redlock_set_flags(${target} ${headers})
        target_precompile_headers(${target} REUSE_FROM ${headers})
    endif()
endfunction()

set(headers
    <boost/asio.hpp> <boost/asio/experimental/awaitable_operators.hpp> <boost/asio/experimental/parallel_group.hpp>
    <fmt/format.h>
    <algorithm> <array> <atomic> <chrono> <condition_variable> <deque> <fstream> <functional> <future> <iostream>
    <list> <map> <memory> <mutex> <numeric> <optional> <random> <set> <sstream> <string> <string_view> <thread> <tuple>
    <unordered_map> <utility> <variant> <vector>)
redlock_make_headers(redlock_headers "" "" ${headers})
if(BUILD_SHARED_LIBS AND TARGET redlock_headers)
    set_target_properties(redlock_headers PROPERTIES POSITION_INDEPENDENT_CODE ON)
endif()
# Tools have a set with the parser of options and JSON, and test programs one with Boost.Test as well. In the presets for tests neither
# is optimised.
if(REDLOCK_BUILD_TOOLS OR REDLOCK_BUILD_TESTS)
    include(src/find_cli11.cmake)
    list(APPEND headers <CLI/CLI.hpp> <boost/json.hpp>)
    redlock_make_headers(redlock_tool_headers "${REDLOCK_TOOL_FLAGS}" "" ${headers})
    target_link_libraries(redlock_tool_headers PRIVATE CLI11::CLI11)
endif()
if(REDLOCK_BUILD_TESTS)
    redlock_make_headers(redlock_test_headers "${REDLOCK_TOOL_FLAGS}" BOOST_TEST_NO_OLD_TOOLS ${headers} <boost/test/unit_test.hpp>)
    target_link_libraries(redlock_test_headers PRIVATE CLI11::CLI11)
endif()
