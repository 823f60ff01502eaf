npx --yes pnpm@10 add express lodash
