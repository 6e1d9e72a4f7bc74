import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'source',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, 'test/package/**'],
          setupFiles: 'test/seed.ts',
        },
      },
      {
        test: {
          name: 'package',
          include: ['test/package/**/*.test.ts'],
          globalSetup: 'test/package/setup.ts',
          testTimeout: 120_000,
        },
      },
    ],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts', 'machines/**/*.ts'],
      // Runs in a browser, where test/inspect/page looks at it. What runs in processes of its own counts as not run.
      exclude: ['src/inspect/page/**'],
      reporter: [['text', { skipFull: true }], 'html'],
      thresholds: { statements: 96.5, branches: 92, functions: 97, lines: 97.5 },
    },
  },
});
