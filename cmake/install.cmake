# `cmake --install build/release --component server|ctl` (and `client`, in client/CMakeLists.txt):
# `make install` and scripts/package go through these rules.
include(GNUInstallDirs)

install(TARGETS kvorum RUNTIME COMPONENT server)
install(TARGETS kvorumctl kvorumutl RUNTIME COMPONENT ctl)

# systemd looks below /usr and /usr/local. The unit names the folder of the binary.
install(CODE "
  file(READ ${PROJECT_SOURCE_DIR}/deploy/kvorum.service unit)
  string(REPLACE /usr/local/bin/ \"\${CMAKE_INSTALL_PREFIX}/bin/\" unit \"\${unit}\")
  set(file \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/system/kvorum.service\")
  message(STATUS \"Installing: \$ENV{DESTDIR}\${file}\")
  file(WRITE \"\$ENV{DESTDIR}\${file}\" \"\${unit}\")
  # The host's settings are never written over.
  if(NOT EXISTS \"\$ENV{DESTDIR}/etc/kvorum/kvorum.env\")
    message(STATUS \"Installing: \$ENV{DESTDIR}/etc/kvorum/kvorum.env\")
    file(COPY ${PROJECT_SOURCE_DIR}/deploy/kvorum.env DESTINATION \"\$ENV{DESTDIR}/etc/kvorum\"
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ)
  endif()
" COMPONENT server)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/deploy/three-hosts
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/kvorum/examples COMPONENT server)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/README.md ${PROJECT_SOURCE_DIR}/deploy/kvorum.conf.yml.sample
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/kvorum COMPONENT server)

# Completions, as the program itself writes them.
foreach(program kvorumctl kvorumutl)
foreach(shell_file bash:bash-completion/completions/${program} zsh:zsh/vendor-completions/_${program}
    fish:fish/vendor_completions.d/${program}.fish)
  string(REPLACE ":" ";" parts ${shell_file})
  list(GET parts 0 shell)
  list(GET parts 1 file)
  install(CODE "
    set(file \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/${file}\")
    message(STATUS \"Installing: \$ENV{DESTDIR}\${file}\")
    execute_process(COMMAND $<TARGET_FILE:${program}> completion ${shell}
      OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    file(WRITE \"\$ENV{DESTDIR}\${file}\" \"\${text}\")
  " COMPONENT ctl)
endforeach()
endforeach()

# The manual pages, as the programs themselves tell them.
foreach(page server:man8/kvorum.8 ctl:man1/kvorumctl.1 ctl:man1/kvorumutl.1)
  string(REPLACE ":" ";" parts ${page})
  list(GET parts 0 component)
  list(GET parts 1 file)
  install(CODE "
    get_filename_component(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/${file}\" DIRECTORY)
    get_filename_component(name ${file} NAME)
    message(STATUS \"Installing: \${folder}/\${name}\")
    execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/man-pages $<TARGET_FILE_DIR:kvorum> \${folder} \${name}
      COMMAND_ERROR_IS_FATAL ANY)
  " COMPONENT ${component})
endforeach()
