/** The rest of the guide: a manifest with all it needs, a background process, an error, cleaning up after crashes. */
import { localBackend } from '@cofferdam/backend-local'
import { createHost, isSandboxError } from '@cofferdam/core'
import type { ManifestInput } from '@cofferdam/core'

const manifest: ManifestInput = {
  entries: {
    'README.md': { kind: 'file', text: '# Task\n' },
    src: { kind: 'local_dir', source: './project/src', exclude: ['node_modules'] },
    scratch: { kind: 'dir', ephemeral: true },
    context: { kind: 'projection', source: './project', roots: ['AGENTS.md'] },
  },
  environment: { CI: 'true', API_TOKEN: { secret: 'ci/api-token' } },
}

await using host = await createHost({
  plugins: [localBackend()],
  secrets: (name) => process.env[`SECRET_${name}`] ?? 'a token from your vault',
})
await host.reap()

await using session = await host.acquire({ scope: { user: 'ada' }, manifest, afterRelease: 'destroy' })
const listed = await session.execOrThrow('ls -d README.md src/* scratch context/*; echo "$API_TOKEN" | wc -c')
console.log(listed.stdout)

const server = await session.spawn('echo listening; sleep 600', { background: true })
// Nobody reads the streams: from here on the end of the output is kept for `readOutput`.
await Promise.all([server.stdout.cancel(), server.stderr.cancel()])
const output = await session.processes.readOutput(server.id, { waitMs: 10_000 })
console.log(output.text, output.exit)
await session.processes.kill(server.id)

try {
  await session.files.readText('../outside')
} catch (error) {
  if (isSandboxError(error, 'path_escape')) console.log(error.code, error.details.path)
  else throw error
}
