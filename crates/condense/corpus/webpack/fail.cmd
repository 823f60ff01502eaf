npx webpack --mode production
