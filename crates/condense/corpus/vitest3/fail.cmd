npx vitest run vit
