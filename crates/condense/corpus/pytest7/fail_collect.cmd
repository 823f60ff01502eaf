pytest tests/nothing.py tests/test_cart.py
