# The places of the installed client library (component `client`): what client/ and sync/ share.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(KVORUM_CLIENT_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/kvorum-client)
set(KVORUM_CLIENT_INCLUDE_DIR ${CMAKE_INSTALL_INCLUDEDIR}/kvorum)

# kvorum_install_libraries(LIBRARY...): installs them as part of the package, kvorum_x as kvorum::x.
function(kvorum_install_libraries)
  foreach(library IN LISTS ARGN)
    string(REGEX REPLACE "^kvorum_" "" exported ${library})
    set_target_properties(${library} PROPERTIES EXPORT_NAME ${exported})
  endforeach()
  install(TARGETS ${ARGN}
    EXPORT kvorum-client
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT client
    INCLUDES DESTINATION ${KVORUM_CLIENT_INCLUDE_DIR})
endfunction()
