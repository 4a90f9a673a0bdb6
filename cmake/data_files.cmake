# Installs what the program finds at run time under share/packsim, in the folders of the source tree; see
# find_data_root() in cli/program.cpp. Usage: packsim_install_data(<destination> <component>)
function(packsim_install_data destination component)
  foreach(folder scenarios models/architectures models/clusters calibration/profiles calibration/plans validation)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/ DESTINATION ${destination}/${folder}
            COMPONENT ${component} FILES_MATCHING PATTERN "*.json" PATTERN "*.csv" PATTERN "*.txt"
            PATTERN "loader" EXCLUDE)
  endforeach()
  # What `packsim calibrate run --with torch` starts.
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/calibration/steps/ DESTINATION ${destination}/calibration/steps
          COMPONENT ${component} FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
endfunction()
