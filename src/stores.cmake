# Locks in other stores than Redis: a library each, for those who name it. AUTO leaves out what has no client library here, and says so.

set(redlock_stores "")

function(redlock_store name found library)  # OBJECT…
    string(TOUPPER ${name} option)
    set(REDLOCK_${option} AUTO CACHE STRING "Build redlock::${name}: ON, OFF, or AUTO, which is if its client library is found")
    set_property(CACHE REDLOCK_${option} PROPERTY STRINGS AUTO ON OFF)
    if(REDLOCK_${option} STREQUAL "OFF")
        return()
    endif()
    if(NOT found)
        if(REDLOCK_${option} STREQUAL "AUTO")
            message(STATUS "redlock::${name} is left out: ${library} was not found")
            return()
        endif()
        message(FATAL_ERROR "redlock::${name} needs ${library}, which was not found; install it, or leave REDLOCK_${option} at AUTO")
    endif()
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/stores/${name}/*.cpp)
    list(FILTER sources EXCLUDE REGEX "/boost_json\\.cpp$")
    if(EXISTS ${PROJECT_SOURCE_DIR}/src/stores/${name}/schema.sql)
        file(READ ${PROJECT_SOURCE_DIR}/src/stores/${name}/schema.sql schema)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/stores/${name}/schema.sql)
        configure_file(src/stores/${name}/schema.cpp.in ${PROJECT_BINARY_DIR}/${name}_schema.cpp @ONLY)
        list(APPEND sources ${PROJECT_BINARY_DIR}/${name}_schema.cpp)
    endif()
    add_library(redlock_${name} ${sources} ${ARGN} $<TARGET_OBJECTS:redlock_names>)
    add_library(redlock::${name} ALIAS redlock_${name})
    target_link_libraries(redlock_${name} PUBLIC redlock
        PRIVATE ${redlock_client_of_${name}} $<BUILD_INTERFACE:${REDLOCK_FMT}> $<BUILD_INTERFACE:redlock_warnings>
            $<BUILD_INTERFACE:$<$<BOOL:${REDLOCK_COMPILED_ASIO}>:redlock_asio>>)
    target_include_directories(redlock_${name} PRIVATE src)
    redlock_headers_of(redlock_${name} include/redlock/${name}.hpp)
    target_compile_options(redlock_${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>)  # as in redlock_warnings
    set_target_properties(redlock_${name} PROPERTIES
        EXPORT_NAME ${name}
        VERSION ${PROJECT_VERSION}
        SOVERSION ${redlock_abi}
        CXX_VISIBILITY_PRESET hidden
        VISIBILITY_INLINES_HIDDEN ON)
    redlock_precompile(redlock_${name} redlock_headers)
    redlock_whole(redlock_${name} ${ARGN})
    if(BUILD_SHARED_LIBS)
        target_link_libraries(redlock_${name}_whole INTERFACE redlock_whole ${redlock_client_of_${name}})
    endif()
    if(NOT REDLOCK_INSTALL AND NOT REDLOCK_BUILD_TESTS AND NOT REDLOCK_BUILD_TOOLS)
        set_target_properties(redlock_${name} PROPERTIES EXCLUDE_FROM_ALL ON)  # part of another build, which links it if it wants it
    endif()
    set(redlock_stores ${redlock_stores} ${name} PARENT_SCOPE)
endfunction()

# The targets of client libraries.
set(redlock_client_of_postgresql PostgreSQL::PostgreSQL)
set(redlock_client_of_mysql MariaDB::client)
set(redlock_client_of_etcd OpenSSL::SSL OpenSSL::Crypto)
set(redlock_client_of_zookeeper ZooKeeper::client)

# What these stores share.
redlock_objects(redlock_boost_json src/stores/etcd/boost_json.cpp)
file(GLOB kit CONFIGURE_DEPENDS src/stores/kit/*.cpp)
redlock_objects(redlock_kit ${kit})

find_package(PostgreSQL 14 QUIET)
redlock_store(postgresql "${PostgreSQL_FOUND}" "libpq 14 or newer (Debian's libpq-dev)" $<TARGET_OBJECTS:redlock_kit>)

redlock_store(etcd TRUE "" $<TARGET_OBJECTS:redlock_boost_json> $<TARGET_OBJECTS:redlock_tls> $<TARGET_OBJECTS:redlock_kit>)

include(src/find_mariadb.cmake)
redlock_store(mysql "${MariaDB_FOUND}" "MariaDB Connector/C 3.3 or newer (Debian's libmariadb-dev)" $<TARGET_OBJECTS:redlock_kit>)

include(src/find_zookeeper.cmake)
redlock_store(zookeeper "${ZooKeeper_FOUND}" "ZooKeeper's C client 3.6 or newer (Debian's libzookeeper-st-dev)" $<TARGET_OBJECTS:redlock_kit>)
