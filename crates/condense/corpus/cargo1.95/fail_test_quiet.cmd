cargo test -q
