# The places of the installed client library (component `client`): what client/ and sync/ share.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(KVORUM_CLIENT_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/kvorum-client)
set(KVORUM_CLIENT_INCLUDE_DIR ${CMAKE_INSTALL_INCLUDEDIR}/kvorum)
