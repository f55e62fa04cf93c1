import tseslint from 'typescript-eslint'

const sources = ['packages/*/src/**/*.ts']
const tests = ['**/*.test.ts']
const commandLine = ['scripts/**', 'examples/**', 'bench/**']

const defaultExport = {
  selector: 'ExportDefaultDeclaration',
  message: 'Export it by name: a default export has no name that can be searched for.',
}
const bareError = {
  selector: "ThrowStatement > NewExpression[callee.name='Error']",
  message: 'Throw a SandboxError with a code from the error table, or a TypeError when the programmer is at fault.',
}
const exportStar = {
  selector: 'ExportAllDeclaration',
  message: 'List the exported names: what is public is decided, not inherited.',
}

/** Foreign packages that are known in one place only; test/architecture.test.ts holds the same doors for good. */
const door = (name, place) => ({ name, message: `Only ${place} knows ${name}; use what it offers.` })
const dependencyInjection = [door('tsyringe', 'core/src/di'), door('reflect-metadata', 'core/src/di')]
const pty = [door('@lydell/node-pty', 'backend-local/src/pty')]

export default tseslint.config(
  { ignores: ['**/node_modules/**', '**/dist/**', '**/coverage/**', '**/.cofferdam/**', 'examples/demo/project/**'] },
  ...tseslint.configs.recommended,
  {
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': ['error', { allowForKnownSafeCalls: ['describe', 'it', 'test'] }],
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/prefer-promise-reject-errors': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      eqeqeq: ['error', 'always'],
      'no-restricted-syntax': ['error', defaultExport, exportStar],
      'prefer-const': 'error',
    },
  },
  {
    files: sources,
    ignores: tests,
    rules: {
      'no-console': 'error',
      'no-restricted-syntax': ['error', defaultExport, exportStar, bareError],
      'no-restricted-imports': ['error', { paths: [...dependencyInjection, ...pty] }],
    },
  },
  {
    files: ['packages/core/src/di/**', 'packages/core/src/tsyringe.ts'],
    rules: { 'no-restricted-imports': ['error', { paths: pty }] },
  },
  {
    files: ['packages/backend-local/src/pty/**', 'packages/backend-local/src/pty*.ts'],
    rules: { 'no-restricted-imports': ['error', { paths: dependencyInjection }] },
  },
  { files: commandLine, rules: { 'no-console': 'off' } },
  { files: ['*.config.ts'], rules: { 'no-restricted-syntax': 'off' } },
)
