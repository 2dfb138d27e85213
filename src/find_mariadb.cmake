# MariaDB Connector/C, which speaks to MySQL, too. Sets MariaDB_FOUND; the target is MariaDB::client.

find_path(MariaDB_INCLUDE_DIR errmsg.h PATH_SUFFIXES mariadb)
find_library(MariaDB_LIBRARY mariadb)
mark_as_advanced(MariaDB_INCLUDE_DIR MariaDB_LIBRARY)
set(MariaDB_FOUND FALSE)
if(MariaDB_INCLUDE_DIR AND MariaDB_LIBRARY AND EXISTS "${MariaDB_INCLUDE_DIR}/mariadb_version.h")
    file(STRINGS "${MariaDB_INCLUDE_DIR}/mariadb_version.h" MariaDB_VERSION REGEX "define MARIADB_PACKAGE_VERSION ")
    string(REGEX REPLACE ".*\"(.*)\".*" "\\1" MariaDB_VERSION "${MariaDB_VERSION}")
    if(MariaDB_VERSION VERSION_GREATER_EQUAL 3.3)
        set(MariaDB_FOUND TRUE)
    endif()
endif()
if(MariaDB_FOUND AND NOT TARGET MariaDB::client)
    add_library(MariaDB::client UNKNOWN IMPORTED)
    set_target_properties(MariaDB::client PROPERTIES
        IMPORTED_LOCATION "${MariaDB_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${MariaDB_INCLUDE_DIR}")
endif()
