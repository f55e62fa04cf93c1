/** A host with a backend of one's own: everything else (manifests, snapshots, slots, tools) comes with it. */
import { createHost } from '@cofferdam/core'
import { folderBackend } from './folder-backend.js'

await using host = await createHost({ plugins: [folderBackend({ folder: 'sandboxes' })] })
const session = await host.acquire({
  scope: { session: 'chat-42' },
  manifest: { entries: { 'sum.sh': { kind: 'file', text: 'echo $(($1 + $2))' } } },
})
const { stdout } = await session.exec(['sh', 'sum.sh', '20', '22'])
await session.files.write('answer.txt', stdout)
await session.release({ afterRelease: 'destroy' })

// The sandbox is gone. The next one gets the workspace back from the snapshot.
await using again = await host.acquire({ scope: { session: 'chat-42' }, afterRelease: 'destroy' })
console.log(again.backendId, again.branch, (await again.files.readText('answer.txt')).trim())
