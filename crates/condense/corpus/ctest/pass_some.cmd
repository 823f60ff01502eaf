ctest --test-dir build -E 20
