cargo nextest run --no-fail-fast
