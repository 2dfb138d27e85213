# Installs redlock.pc, and redlock-NAME.pc for each store and for redlock::testing. The paths in them are relative to the
# file, so that an installed folder can be moved.

# What a static library needs is public where there is no shared one: `pkg-config --libs` alone is enough to link.
set(private .private)
if(NOT BUILD_SHARED_LIBS)
    set(private "")
endif()

set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    set(pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
    file(RELATIVE_PATH pc_prefix /${pc_dir} /)
    string(REGEX REPLACE "^(.*)/$" "\${pcfiledir}/\\1" pc_prefix "${pc_prefix}")
endif()
foreach(folder LIB INCLUDE)
    string(TOLOWER pc_${folder}dir variable)
    set(${variable} ${CMAKE_INSTALL_${folder}DIR})
    if(NOT IS_ABSOLUTE "${${variable}}")
        set(${variable} "\${prefix}/${${variable}}")
    endif()
endforeach()

# Boost has no .pc file. Where the compiler does not find its headers, their folder is named.
set(pc_boost "")
get_target_property(boost_folders Boost::headers INTERFACE_INCLUDE_DIRECTORIES)
foreach(folder IN LISTS boost_folders)
    if(NOT folder IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES AND NOT folder MATCHES "\\$<")
        string(REPLACE " " "\\ " folder "${folder}")
        string(APPEND pc_boost " -I${folder}")
    endif()
endforeach()

function(redlock_pc name description)  # LINE…: more lines
    list(JOIN ARGN "\n" lines)
    string(REPLACE "-" "_" library ${name})
    set(file ${PROJECT_BINARY_DIR}/pkgconfig/${name}.pc)
    file(CONFIGURE OUTPUT ${file} @ONLY CONTENT [[
prefix=@pc_prefix@
libdir=@pc_libdir@
includedir=@pc_includedir@

Name: @name@
Description: @description@
Version: @PROJECT_VERSION@
@lines@
Cflags: -I${includedir} -pthread@pc_boost@
Libs: -L${libdir} -l@library@ -pthread@pc_libs@
]])
    install(FILES ${file} DESTINATION ${pc_dir})
endfunction()

redlock_pc(redlock "${PROJECT_DESCRIPTION}" "Requires${private}: libssl libcrypto")
redlock_pc(redlock-testing "Tests for nodes of your own, for redlock" "Requires: redlock = ${PROJECT_VERSION}")
set(needs_postgresql "Requires${private}: libpq")
set(needs_mysql "Requires${private}: libmariadb")
set(needs_etcd "Requires${private}: libssl libcrypto")
set(needs_zookeeper "")  # it has no .pc file
foreach(store IN LISTS redlock_stores)
    set(pc_libs "")
    if(store STREQUAL "zookeeper" AND NOT BUILD_SHARED_LIBS)
        get_filename_component(folder "${ZooKeeper_LIBRARY}" DIRECTORY)
        set(pc_libs " -L${folder} -lzookeeper_st")
    endif()
    redlock_pc(redlock-${store} "Locks in ${store}, for redlock" "Requires: redlock = ${PROJECT_VERSION}" ${needs_${store}})
endforeach()
