// One call of the archive engine in a process that may be killed: `node … snapshot.driver.ts <job> <json>`.
import { createFolderBlobStore } from '../store/folder-blob-store.js'
import { createArchiveEngine } from './archive-engine.js'
import { openDirectorySandbox } from './directory-sandbox.fixture.js'
import type { DriverJob } from './run-snapshot-driver.fixture.js'

const [name = '', json = '{}'] = process.argv.slice(2)
const { folder, blobFolder, keep = [], ref } = JSON.parse(json) as DriverJob
const sandbox = await openDirectorySandbox(folder)
const engine = createArchiveEngine({
  blobs: createFolderBlobStore({ folder: blobFolder, fsync: false }),
  storeName: 'folder',
})
const request = { slotHash: 'f00d', parent: null, exclude: keep, spec: { kind: 'archive' } }

if (name === 'take') process.stdout.write(JSON.stringify(await engine.take(sandbox, request)))
if (name === 'restore') await engine.restore(sandbox, ref!, { keep })
if (name === 'recover') process.stdout.write(await engine.recover(sandbox))
if (name === 'delete') await engine.delete(ref!)
if (name === 'memory') await measureMemory()

/** What a take and a restore need above what the first ones left, in bytes. */
async function measureMemory(): Promise<void> {
  const small = await openDirectorySandbox(`${folder}/small`)
  for (let round = 0; round < 3; round++) {
    const taken = await engine.take(small, request)
    await engine.restore(small, taken!, { keep })
  }
  const before = process.memoryUsage.rss()
  let peak = before
  const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 5)
  const taken = await engine.take(sandbox, request)
  await engine.restore(sandbox, taken!, { keep })
  clearInterval(timer)
  process.stdout.write(String(Math.max(peak, process.memoryUsage.rss()) - before))
}
