npx webpack --mode development --progress
