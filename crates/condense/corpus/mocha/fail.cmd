npx mocha
