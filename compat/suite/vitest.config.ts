import { defineConfig } from 'vitest/config';

// Run with a framework's folder as its root: what the suite imports is what is installed there.
export default defineConfig({
  resolve: { dedupe: ['phasegate', '@opentelemetry/api', '@opentelemetry/sdk-trace-node'] },
  test: { include: ['**/*.test.ts'], testTimeout: 20_000 },
});
