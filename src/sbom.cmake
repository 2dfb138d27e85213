# Writes redlock.spdx.json, a bill of materials (SPDX 2.3) with the versions that this build has found, and installs it. The
# time in it is SOURCE_DATE_EPOCH if that is set, so that a build can be reproduced.

get_target_property(folder Boost::headers INTERFACE_INCLUDE_DIRECTORIES)
set(boost_version NOASSERTION)
if(folder)
    list(GET folder 0 folder)
endif()
if(EXISTS "${folder}/boost/version.hpp")
    file(STRINGS "${folder}/boost/version.hpp" boost_version REGEX "define BOOST_LIB_VERSION")
    string(REGEX REPLACE ".*\"(.*)\".*" "\\1" boost_version "${boost_version}")
    string(REPLACE "_" "." boost_version "${boost_version}")
endif()

set(sbom_packages "")
set(sbom_relations "{\"spdxElementId\": \"SPDXRef-DOCUMENT\", \"relationshipType\": \"DESCRIBES\", \"relatedSpdxElement\": \"SPDXRef-redlock\"}")

function(sbom_package name version licence purpose)
    if(sbom_packages)
        string(APPEND sbom_packages ",\n    ")
    endif()
    if(version STREQUAL "")
        set(version NOASSERTION)
    endif()
    string(APPEND sbom_packages "{\"SPDXID\": \"SPDXRef-${name}\", \"name\": \"${name}\", \"versionInfo\": \"${version}\", "
        "\"primaryPackagePurpose\": \"${purpose}\", \"downloadLocation\": \"NOASSERTION\", \"filesAnalyzed\": false, "
        "\"licenseConcluded\": \"${licence}\", \"licenseDeclared\": \"${licence}\", \"copyrightText\": \"NOASSERTION\"}")
    set(sbom_packages "${sbom_packages}" PARENT_SCOPE)
endfunction()

function(sbom_relation from type to)
    string(APPEND sbom_relations ",\n    {\"spdxElementId\": \"SPDXRef-${from}\", \"relationshipType\": \"${type}\", \"relatedSpdxElement\": \"SPDXRef-${to}\"}")
    set(sbom_relations "${sbom_relations}" PARENT_SCOPE)
endfunction()

# Boost and fmt are headers: their code is a part of ours.
sbom_package(redlock "${PROJECT_VERSION}" BSL-1.0 LIBRARY)
sbom_package(boost "${boost_version}" BSL-1.0 LIBRARY)
sbom_package(fmt "${fmt_VERSION}" MIT LIBRARY)
sbom_package(openssl "${OPENSSL_VERSION}" Apache-2.0 LIBRARY)
sbom_relation(redlock STATIC_LINK boost)
sbom_relation(redlock STATIC_LINK fmt)
sbom_relation(redlock DYNAMIC_LINK openssl)
set(client_of_postgresql libpq "${PostgreSQL_VERSION_STRING}" PostgreSQL)
set(client_of_mysql mariadb-connector-c "${MariaDB_VERSION}" LGPL-2.1-or-later)
set(client_of_zookeeper zookeeper-c-client "${ZooKeeper_VERSION}" Apache-2.0)
foreach(store IN LISTS redlock_stores)
    sbom_package(redlock-${store} "${PROJECT_VERSION}" BSL-1.0 LIBRARY)
    sbom_relation(redlock CONTAINS redlock-${store})
    if(client_of_${store})
        list(GET client_of_${store} 0 client)
        list(GET client_of_${store} 1 version)
        list(GET client_of_${store} 2 licence)
        sbom_package(${client} "${version}" ${licence} LIBRARY)
        sbom_relation(redlock-${store} DYNAMIC_LINK ${client})
    endif()
endforeach()
if(REDLOCK_BUILD_TOOLS)
    sbom_package(redlock-tool "${PROJECT_VERSION}" BSL-1.0 APPLICATION)
    sbom_package(cli11 "${CLI11_VERSION}" BSD-3-Clause LIBRARY)
    sbom_relation(redlock CONTAINS redlock-tool)
    sbom_relation(redlock-tool STATIC_LINK cli11)
endif()

string(UUID sbom_id NAMESPACE 6ba7b811-9dad-11d1-80b4-00c04fd430c8 NAME "${sbom_packages}${sbom_relations}" TYPE SHA1)
string(TIMESTAMP sbom_time "%Y-%m-%dT%H:%M:%SZ" UTC)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/redlock.spdx.json @ONLY CONTENT [[
{
  "spdxVersion": "SPDX-2.3",
  "dataLicense": "CC0-1.0",
  "SPDXID": "SPDXRef-DOCUMENT",
  "name": "redlock-@PROJECT_VERSION@",
  "documentNamespace": "https://spdx.org/spdxdocs/redlock-@PROJECT_VERSION@-@sbom_id@",
  "creationInfo": {"created": "@sbom_time@", "creators": ["Tool: CMake-@CMAKE_VERSION@"]},
  "packages": [
    @sbom_packages@
  ],
  "relationships": [
    @sbom_relations@
  ]
}
]])
install(FILES ${PROJECT_BINARY_DIR}/redlock.spdx.json DESTINATION ${CMAKE_INSTALL_DOCDIR})
