ninja -C build
