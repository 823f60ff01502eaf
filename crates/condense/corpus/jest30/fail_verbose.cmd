npx jest --verbose jest
