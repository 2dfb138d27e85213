# Locks in other stores than Redis: a library each, for those who name it. AUTO leaves out what has no client library here, and says so.

set(redlock_stores "")

function(redlock_store name found library)  # SOURCE…
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
    add_library(redlock_${name} ${ARGN} $<TARGET_OBJECTS:redlock_names>)
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

# What databases share, and what stores with leases or sessions share.
redlock_objects(redlock_sql src/sql/connections.cpp src/sql/database_node.cpp src/sql/watches.cpp)
redlock_objects(redlock_boost_json src/etcd/boost_json.cpp)
redlock_objects(redlock_leases src/leases/deletions.cpp src/leases/expiries.cpp src/leases/location.cpp)

find_package(PostgreSQL 14 QUIET)
file(READ ${CMAKE_CURRENT_LIST_DIR}/postgresql/schema.sql redlock_postgresql_schema)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/postgresql/schema.sql)
configure_file(${CMAKE_CURRENT_LIST_DIR}/postgresql/schema.cpp.in ${PROJECT_BINARY_DIR}/postgresql_schema.cpp @ONLY)
redlock_store(postgresql "${PostgreSQL_FOUND}" "libpq 14 or newer (Debian's libpq-dev)"
    src/postgresql/address.cpp
    src/postgresql/greeting.cpp
    src/postgresql/hosts.cpp
    src/postgresql/parameters.cpp
    src/postgresql/postgresql.cpp
    src/postgresql/session.cpp
    src/postgresql/statements.cpp
    $<TARGET_OBJECTS:redlock_sql>
    ${PROJECT_BINARY_DIR}/postgresql_schema.cpp)

redlock_store(etcd TRUE ""
    src/etcd/address.cpp
    src/etcd/channel.cpp
    src/etcd/etcd.cpp
    src/etcd/etcd_node.cpp
    src/etcd/json.cpp
    src/etcd/layout.cpp
    src/etcd/link.cpp
    src/etcd/move.cpp
    src/etcd/outbox.cpp
    src/etcd/refusal.cpp
    src/etcd/session.cpp
    src/etcd/transaction.cpp
    src/etcd/watches.cpp
    $<TARGET_OBJECTS:redlock_boost_json> $<TARGET_OBJECTS:redlock_tls> $<TARGET_OBJECTS:redlock_leases>)

include(src/find_mariadb.cmake)
file(READ ${CMAKE_CURRENT_LIST_DIR}/mysql/schema.sql redlock_mysql_schema)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/mysql/schema.sql)
configure_file(${CMAKE_CURRENT_LIST_DIR}/mysql/schema.cpp.in ${PROJECT_BINARY_DIR}/mysql_schema.cpp @ONLY)
redlock_store(mysql "${MariaDB_FOUND}" "MariaDB Connector/C 3.3 or newer (Debian's libmariadb-dev)"
    src/mysql/address.cpp
    src/mysql/client.cpp
    src/mysql/greeting.cpp
    src/mysql/mysql.cpp
    src/mysql/session.cpp
    src/mysql/statements.cpp
    $<TARGET_OBJECTS:redlock_sql>
    ${PROJECT_BINARY_DIR}/mysql_schema.cpp)

include(src/find_zookeeper.cmake)
redlock_store(zookeeper "${ZooKeeper_FOUND}" "ZooKeeper's C client 3.6 or newer (Debian's libzookeeper-st-dev)"
    src/zookeeper/acquire.cpp
    src/zookeeper/address.cpp
    src/zookeeper/client.cpp
    src/zookeeper/errand.cpp
    src/zookeeper/greeting.cpp
    src/zookeeper/layout.cpp
    src/zookeeper/link.cpp
    src/zookeeper/refusal.cpp
    src/zookeeper/requests.cpp
    src/zookeeper/waiting.cpp
    src/zookeeper/zookeeper.cpp
    src/zookeeper/zookeeper_node.cpp
    $<TARGET_OBJECTS:redlock_leases>)

# Links all that there are; the file that names them is told which, by REDLOCK_HAS_….
function(redlock_link_stores target file)
    foreach(store IN LISTS redlock_stores)
        string(TOUPPER REDLOCK_HAS_${store} has)
        set_property(SOURCE ${file} APPEND PROPERTY COMPILE_DEFINITIONS ${has})
        target_link_libraries(${target} PRIVATE redlock_${store}_whole)
    endforeach()
    set_property(SOURCE ${file} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
endfunction()
