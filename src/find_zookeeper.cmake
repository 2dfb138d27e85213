# ZooKeeper's C client, its single-threaded kind. Sets ZooKeeper_FOUND; the target is ZooKeeper::client.

find_path(ZooKeeper_INCLUDE_DIR zookeeper/zookeeper.h)
find_library(ZooKeeper_LIBRARY zookeeper_st)
mark_as_advanced(ZooKeeper_INCLUDE_DIR ZooKeeper_LIBRARY)
set(ZooKeeper_FOUND FALSE)
if(ZooKeeper_INCLUDE_DIR AND ZooKeeper_LIBRARY AND EXISTS "${ZooKeeper_INCLUDE_DIR}/zookeeper/zookeeper_version.h")
    file(STRINGS "${ZooKeeper_INCLUDE_DIR}/zookeeper/zookeeper_version.h" ZooKeeper_VERSION REGEX "define ZOO_VERSION ")
    string(REGEX REPLACE ".*\"(.*)\".*" "\\1" ZooKeeper_VERSION "${ZooKeeper_VERSION}")
    if(ZooKeeper_VERSION VERSION_GREATER_EQUAL 3.6)  # from which on it can be kept from resolving names
        set(ZooKeeper_FOUND TRUE)
    endif()
endif()
if(ZooKeeper_FOUND AND NOT TARGET ZooKeeper::client)
    add_library(ZooKeeper::client UNKNOWN IMPORTED)
    set_target_properties(ZooKeeper::client PROPERTIES
        IMPORTED_LOCATION "${ZooKeeper_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${ZooKeeper_INCLUDE_DIR}")
endif()
