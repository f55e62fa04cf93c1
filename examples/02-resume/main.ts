/**
 * One workspace, several processes. Run it twice: the second process finds the work of the first, because both acquire
 * the same scope. `--gone` removes the sandbox at the end, and the next run gets the workspace back from its snapshot.
 */
import { localBackend } from '@cofferdam/backend-local'
import { createHost } from '@cofferdam/core'

const destroy = process.argv.includes('--gone')

await using host = await createHost({ plugins: [localBackend()] })
const session = await host.acquire({
  scope: { session: 'chat-42' },
  manifest: { entries: { 'notes.md': { kind: 'file', text: '# Notes\n' } } },
})
await session.files.append('notes.md', `- run by process ${process.pid}\n`)
const { stdout } = await session.exec('grep -c "run by" notes.md')

// Saves the workspace; then the sandbox is parked for the next acquire, or removed.
const { snapshot, state, compute } = await session.release({ afterRelease: destroy ? 'destroy' : 'park' })
console.log(JSON.stringify({ branch: session.branch, runs: Number(stdout), saved: snapshot?.files, compute }))

// What a program keeps that wants this session by its state, not by its scope. Untrusted when it comes back.
console.log(JSON.stringify(state))
