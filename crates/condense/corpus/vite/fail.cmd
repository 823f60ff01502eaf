npm run vite
