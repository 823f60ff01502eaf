npx vite build
