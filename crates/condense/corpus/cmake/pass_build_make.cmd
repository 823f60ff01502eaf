cmake --build make
