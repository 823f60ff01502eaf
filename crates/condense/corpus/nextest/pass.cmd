cargo nextest run
