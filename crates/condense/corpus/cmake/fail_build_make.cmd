cmake --build make -j2
