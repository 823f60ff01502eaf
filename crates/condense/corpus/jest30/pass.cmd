npx jest jest/cart
