import { defaultServerConditions } from 'vite'
import { defineConfig, type ViteUserConfig } from 'vitest/config'
import { PlainReporter } from './scripts/plain-reporter.js'

// Workspace packages are read from their sources: nothing has to be built before a test.
const conditions = ['@cofferdam/source', ...defaultServerConditions]

const config: ViteUserConfig = defineConfig({
  // `await using` does not parse on Node 20.
  oxc: { target: 'es2022' },
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**', 'examples/demo/project/**'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: ['default', new PlainReporter()],
  },
})

export default config
