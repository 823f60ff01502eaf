uv add requests flask rich
